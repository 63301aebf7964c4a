#include "tegula/ops/host_call.h"

#include <utility>

#include "tegula/core/buffer.h"

namespace tegula::ops {

std::unique_ptr<runtime::Call> host_call(runtime::Device& device, const runtime::CallDescription& description,
                                         const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs) {
  using runtime::HostTurn;
  std::shared_ptr<const runtime::Call> call = runtime::cpu().make(description);
  if (!device.traits().queues) return runtime::cpu().make(description);
  const std::string text = call->describe() + ", on the host";
  return device.make(HostTurn{.input_bytes = HostTurn::place(inputs, inputs.size()),
                              .output_bytes = HostTurn::place(outputs, outputs.size()),
                              .inputs = inputs,
                              .outputs = outputs,
                              .text = text,
                              .queued = [=](const Line& where) -> HostTurn::Work {
                                return [=](const void* input, void* output) {
                                  std::vector<void*> buffers;
                                  for (std::size_t i = 0; i < inputs.size(); ++i)
                                    buffers.push_back(static_cast<std::byte*>(const_cast<void*>(input)) + HostTurn::place(inputs, i));
                                  for (std::size_t i = 0; i < outputs.size(); ++i)
                                    buffers.push_back(static_cast<std::byte*>(output) + HostTurn::place(outputs, i));
                                  const Ref<Buffer> scratch = runtime::cpu().allocate(call->scratch_bytes());
                                  call->run(buffers, {.scratch = scratch->data(), .threads = runtime::cpu().max_threads(), .line = where});
                                };
                              }});
}

}  // namespace tegula::ops
