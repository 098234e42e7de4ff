#pragma once
// In the place of PyTorch's headers: the types that kernels of its extensions are written with. Half and BFloat16 are CUDA's own types,
// which round as PyTorch's do: these compute in float, whose sums and products of two such numbers round to the same ones.
#include <tilescope_host.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace c10 {
typedef __half Half;
typedef __nv_bfloat16 BFloat16;
}
namespace at {
typedef c10::Half Half;
typedef c10::BFloat16 BFloat16;
template <class T> struct OpMathType { typedef T type; };
template <> struct OpMathType<Half> { typedef float type; };
template <> struct OpMathType<BFloat16> { typedef float type; };
template <class T> using opmath_type = typename OpMathType<T>::type;
template <class T, bool> struct AccumulateType { typedef opmath_type<T> type; };
template <class T, bool cuda> using acc_type = typename AccumulateType<T, cuda>::type;

template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };

// What a PackedTensorAccessor gives for all but the last index: the rest of the tensor.
template <class T, size_t N, template <class> class Traits, class Index> struct TensorAccessorView {
    typename Traits<T>::PtrType data;
    const Index* sizes;
    const Index* strides;
    __device__ TensorAccessorView<T, N - 1, Traits, Index> operator[](Index i) const {
        return {data + strides[0] * i, sizes + 1, strides + 1};
    }
    __device__ Index size(Index i) const { return sizes[i]; }
    __device__ Index stride(Index i) const { return strides[i]; }
};
template <class T, template <class> class Traits, class Index> struct TensorAccessorView<T, 1, Traits, Index> {
    typename Traits<T>::PtrType data;
    const Index* sizes;
    const Index* strides;
    __device__ T& operator[](Index i) const { return data[strides[0] * i]; }
    __device__ Index size(Index i) const { return sizes[i]; }
    __device__ Index stride(Index i) const { return strides[i]; }
};

// A tensor as a parameter: its address, extents and strides (elements), in this order, as PyTorch has them.
template <class T, size_t N, template <class> class Traits, class Index> struct GenericPackedTensorAccessor {
    typename Traits<T>::PtrType data_;
    Index sizes_[N], strides_[N];
    __device__ auto operator[](Index i) const -> decltype(TensorAccessorView<T, N, Traits, Index>()[i]) {
        return TensorAccessorView<T, N, Traits, Index>{data_, sizes_, strides_}[i];
    }
    __device__ typename Traits<T>::PtrType data() const { return data_; }
    __device__ Index size(Index i) const { return sizes_[i]; }
    __device__ Index stride(Index i) const { return strides_[i]; }
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
}
namespace torch { using namespace at; }
