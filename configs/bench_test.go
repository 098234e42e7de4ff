package configs

import "testing"

func BenchmarkKernels(b *testing.B) {
	for b.Loop() {
		if _, err := loadEmbedded(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	s := stage2(b, nil)
	for _, name := range []string{"validation", "mission", "long"} {
		shape, err := s.ParseShape(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Resolve(shape); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
