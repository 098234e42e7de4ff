package checkrun

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/scaffold"
	"tilescope/probes"
)

// TestDeclaredElements: memory is of the type that the source declares; PTX declares none.
func TestDeclaredElements(t *testing.T) {
	const source = "__global__ void k(const float *a, const int *b, half *c, const unsigned char *d, " +
		"unsigned short *e, __nv_bfloat16 *f, void *g) {}"
	var params []string
	for _, name := range strings.Split("abcdefg", "") {
		params = append(params, ".param .u64 k_param_"+name)
	}
	m, err := ptx.Parse("k.ptx", []byte(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k("+
		strings.Join(params, ", ")+") { ret; }"))
	if err != nil {
		t.Fatal(err)
	}
	text := scaffold.SourceOf(hostcode.Read("k.cu", []byte(source)))
	for _, c := range []struct{ name, value, want string }{
		{"a", "randn:f32[8]", ""},
		{"a", "randint(0,9):i32[8]", "--arg a (0)=randint(0,9):i32[8]: the source declares the parameter as " +
			"float*, so its elements are f32, not i32"},
		{"a", "randn:f16[8]", "f32, not f16"},
		{"a", "zeros:f16[8]", "f32, not f16"},
		{"b", "randn:f32[8]", "int*, so its elements are i32, not f32"},
		{"b", "unwritten:f32[8]", ""},
		{"b", "iota:u32[8]", ""},
		{"c", "randn:bf16[8]", "half*, so its elements are f16, not bf16"},
		{"d", "randn:f32[8]", ""},
		{"e", "randn:bf16[8]", ""},
		{"f", "iota:u16[8]", ""},
		{"g", "randn:f32[8]", ""},
	} {
		for _, of := range []scaffold.Source{text, {}} {
			given, want := []Argument{}, c.want
			if of.Kernels == nil {
				want = ""
			}
			at := int(c.name[0] - 'a')
			for i := range params {
				given = append(given, Argument{Name: fmt.Sprint(i), Value: "null"})
			}
			given[at].Value = c.value
			args, err := matchArgs(m.Func("k"), of, given, probes.Dim3{1, 1, 1}, probes.Dim3{1, 1, 1})
			if err != nil {
				t.Fatal(err)
			}
			args[at].dtype = args[at].value.Buffer.DType
			got := ""
			if err := args[at].asDeclared(); err != nil {
				got = err.Error()
			}
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, want)
			}
		}
	}
}

// TestMainsNumbers: memory that main copies integers to has them, of as many elements as it copies; where the
// source does not show them, or has another number of them, that is an error.
func TestMainsNumbers(t *testing.T) {
	const source = `__global__ void k(const int *rows, float *y, int n) {}
int main() {
    int *r; float *y;
    std::vector<int> rows(100);
    for (int i = 0; i < 100; i++) rows[i] = i * i;
    cudaMalloc(&r, 400);
    cudaMalloc(&y, 40);
    cudaMemcpy(r, rows.data(), 400, cudaMemcpyHostToDevice);
    k<<<1, 32>>>(r, y, 10);
}
`
	const text = ".version 8.0\n.target sm_90\n.address_size 64\n" +
		".visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u32 k_2) { ret; }\n"
	m, err := ptx.Parse("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	of := scaffold.SourceOf(hostcode.Read("k.cu", []byte(source)))
	for value, says := range map[string]string{
		"main:i32[100]": "", "main:i32[99]": "99 elements are requested, and main copies 100",
		"main:f32[100]": "main copies numbers of type int there",
	} {
		given := []Argument{
			{Name: "rows", Value: value},
			{Name: "y", Value: "zeros:f32[10]"},
			{Name: "n", Value: "10"},
		}
		args, err := matchArgs(m.Func("k"), of, given, probes.Dim3{1, 1, 1}, probes.Dim3{32, 1, 1})
		if says != "" {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", value, err)
			}
			continue
		}
		if err != nil || args[0].value.Buffer.Fill.Values[99] != 99*99 {
			t.Errorf("%s: %v", value, err)
		}
	}
	given := []Argument{
		{Name: "rows", Value: "zeros:i32[1]"},
		{Name: "y", Value: "main:f32[10]"},
		{Name: "n", Value: "1"},
	}
	if _, err := matchArgs(m.Func("k"), of, given, probes.Dim3{1, 1, 1}, probes.Dim3{32, 1, 1}); err == nil ||
		!strings.Contains(err.Error(), "does not show what main copies there before line 9") {
		t.Errorf("memory that main does not write: %v", err)
	}
}
