// The allocator of libtorch's tensors on the CPU: asks before it takes memory, and tells when it has given it back. The
// other half is memory.rs.

#include <c10/core/CPUAllocator.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace {

// Each block begins with what it was charged as, so that the address of the data alone frees it, which
// `Allocator::raw_deleter` asks for. As long as libtorch's alignment, which the data keeps.
constexpr size_t HEADER = 64;

// Returns what to pass to `Release`, or sets `refused`. Neither of the two throws.
using Charge = void *(*)(size_t bytes, bool *refused);
using Release = void (*)(void *charge);

c10::Allocator *memory = nullptr;
Charge charge_bytes = nullptr;
Release release_charge = nullptr;

void free_block(void *data) {
  if (data == nullptr) {
    return;
  }
  char *block = static_cast<char *>(data) - HEADER;
  void *charge = *reinterpret_cast<void **>(block);
  memory->raw_deallocate(block);
  release_charge(charge);
}

class ChargingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) {
      return {nullptr, nullptr, &free_block, cpu};
    }
    if (bytes > SIZE_MAX - HEADER) {
      throw std::runtime_error("not enough memory");
    }
    bool refused = false;
    void *charge = charge_bytes(bytes, &refused);
    if (refused) {
      throw std::runtime_error("a limit of the run was reached");
    }
    void *block = nullptr;
    try {
      block = memory->raw_allocate(bytes + HEADER);
    } catch (...) {
      release_charge(charge);
      // In libtorch's words, which name the bytes of a block with its header.
      throw std::runtime_error("not enough memory: you tried to allocate " + std::to_string(bytes) + " bytes.");
    }
    *static_cast<void **>(block) = charge;
    void *data = static_cast<char *>(block) + HEADER;
    return {data, data, &free_block, cpu};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }

  void copy_data(void *dest, const void *src, std::size_t count) const override {
    default_copy_data(dest, src, count);
  }
};

}  // namespace

// Makes libtorch take the memory of all further tensors on the CPU this way. To be called once.
extern "C" void acc_torch_charge_memory(Charge charge, Release release) {
  // Never dropped: tensors may outlive everything else.
  static ChargingAllocator *allocator = new ChargingAllocator();
  memory = c10::GetCPUAllocator();
  charge_bytes = charge;
  release_charge = release;
  // Overrides any allocator that was set before, which it uses.
  c10::SetCPUAllocator(allocator, UINT8_MAX);
}
