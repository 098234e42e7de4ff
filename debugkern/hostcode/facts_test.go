package hostcode

import (
	"fmt"
	"strings"
	"testing"
)

func TestExpr(t *testing.T) {
	values := map[string]string{"TILE": "16", "N": "TILE * 4", "SELF": "SELF + 1"}
	value := func(name string) *Expr { return ParseExpr(values[name]) }
	for text, want := range map[string]string{
		"1 + 2 * 3": "7", "(N + TILE - 1) / TILE": "4", "1 << 5": "32", "0x40u": "64", "1'000": "1000",
		"sizeof(float) * N": "256", "(int)N % 10": "4", "cdiv(65, TILE)": "5", "64 >> 2 >> 1": "8",
		"10 - 2 - 3": "5", "(size_t)(3)": "3", "SELF": "?", "x": "?", "1 / 0": "?", "N ? 1 : 2": "?",
		"f(1)": "?", "": "?", "1 +": "?", "(((": "?",
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200): "?",
	} {
		got := "?"
		if n, ok := ParseExpr(text).Eval(value); ok {
			got = fmt.Sprint(n)
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestFacts(t *testing.T) {
	u := Read("a.cu", []byte(`#define TILE 16
#define CALL(x) x
constexpr int N = TILE * 2, M = 3;
const float scale = 0.5f;
int host = 4;
enum { A0, A1 = N + 1, A2, };
template <typename T>
__global__ void k(T *y, const float *x, int n) {
	__shared__ __align__(16) float a[TILE][N + 1], b[4];
	extern __shared__ char room[];
	__shared__ typename X<T, 2>::Storage tmp;
	const int T2 = 2 * TILE;
	const float *row = x + blockIdx.x * n;
	y[threadIdx.x] = x[threadIdx.x * n + 1] + row[0];
	y[0] += 1;
	if (y[1] == 2) n++;
}
`))
	var got []string
	for _, c := range Constants(u) {
		got = append(got, fmt.Sprintf("%s=%s:%d", c.Name, c.Value, c.Line))
	}
	if s := strings.Join(got, " "); s != "TILE=16:1 M=3:3 N=TILE * 2:3 scale=0.5f:4 A0=0:6 A1=N + 1:6 "+
		"A2=(N + 1) + 1:6" {
		t.Errorf("constants %s", s)
	}
	got = nil
	for _, a := range SharedArrays(u) {
		got = append(got, fmt.Sprintf("%s %s%q:%d", a.Type, a.Name, a.Dims, a.Line))
	}
	if s := strings.Join(got,
		", "); s != `float a["TILE" "N + 1"]:9, float b["4"]:9, char room[""]:10, X<T, 2>::Storage tmp[]:11` {
		t.Errorf("shared arrays %s", s)
	}
	k := Kernels(u)[0]
	got = nil
	for _, s := range k.Stores() {
		got = append(got, fmt.Sprintf("%s[%s] %s %s:%d", s.Name, s.Index, s.Op, s.Value, s.Line))
	}
	if s := strings.Join(got,
		", "); s != "y[threadIdx.x] = x[threadIdx.x * n + 1] + row[0]:14, y[0] += 1:15" {
		t.Errorf("stores %s", s)
	}
	if s := fmt.Sprint(k.Indices()); s != "[{y threadIdx.x} {x threadIdx.x * n + 1} {y 0} {y 1}]" {
		t.Errorf("indices %s", s)
	}
	if l := k.Locals(); l["T2"] != "2 * TILE" || l["row"] != "x + blockIdx.x * n" {
		t.Errorf("locals %v", l)
	}
	if !k.Uses("TILE") || k.Uses("scale") || !strings.Contains(k.Body(), "threadIdx.x * n + 1") {
		t.Error("the body")
	}
}

func TestAllocations(t *testing.T) {
	u := Read("a.cu", []byte(`__global__ void k(float *p, float *q);
void run(int n) {
	float *a, *b;
	size_t bytes = n * sizeof(float);
	cudaMalloc((void **)&a, bytes);
	CHECK(cudaMallocManaged(&b, 4 * n * sizeof(float)));
	k<<<n, 32>>>(a, b);
}
`))
	l := Launches(u)
	if len(l) != 1 || l[0].Bytes["a"] != "bytes" || l[0].Bytes["b"] != "4 * n * sizeof(float)" {
		t.Errorf("%+v", l)
	}
}
