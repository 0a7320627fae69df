// The gradient of the filters of a convolution, which the bindings do not have. The other half is gradient.rs.

#include <ATen/ops/convolution_backward.h>

#include <cstdint>
#include <cstdio>
#include <exception>

// As `torch.ops.aten.convolution_backward` says, of the filters alone. Only the shape of `filters` counts. Without a result,
// `message` is why, in at most `bytes`.
extern "C" at::Tensor *acc_torch_gradient_of_filters(const at::Tensor *gradient, const at::Tensor *images,
                                                     const at::Tensor *filters, const int64_t *strides,
                                                     const int64_t *dilations, const int64_t *zeros, size_t axes,
                                                     int64_t groups, char *message, size_t bytes) {
  try {
    const at::IntArrayRef none(zeros, axes);
    auto [of_images, of_filters, of_bias] =
        at::convolution_backward(*gradient, *images, *filters, std::nullopt, at::IntArrayRef(strides, axes), none,
                                 at::IntArrayRef(dilations, axes), false, none, groups, {false, true, false});
    return new at::Tensor(std::move(of_filters));
  } catch (const std::exception &e) {
    std::snprintf(message, bytes, "%s", e.what());
    return nullptr;
  }
}
