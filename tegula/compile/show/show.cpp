#include "tegula/compile/show/show.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "tegula/core/setting.h"
#include "tegula/core/text.h"
#include "tegula/core/text_table.h"

namespace tegula::compile {
namespace {

std::string each_step(const Plan& plan, std::span<const runtime::PlannedLaunch> launches, const auto& text_of_launch,
                      const auto& text_of_call) {
  std::string text;
  auto launch = launches.begin();
  for (const Step& step : plan.steps) {
    std::string part = step.is_call() ? text_of_call(*step.call()) : text_of_launch(*launch++);
    part.erase(part.find_last_not_of('\n') + 1);
    if (!part.empty()) text += "// " + step.name + "\n" + part + "\n\n";
  }
  return text;
}

}  // namespace

std::string kernel_text(const Plan& plan, std::span<const runtime::PlannedLaunch> launches) {
  return each_step(
      plan, launches, [](const auto& launch) { return launch.kernel->listing_of(launch); },
      [](const auto& call) { return call.describe(); });
}

std::string assembly_text(const Plan& plan, std::span<const runtime::PlannedLaunch> launches) {
  return each_step(
      plan, launches, [](const auto& launch) { return launch.kernel->assembly(launch); }, [](const auto&) { return std::string(); });
}

std::string figures_table(const Plan& plan, std::span<const runtime::PlannedLaunch> launches) {
  TextTable table({"kernel", "blocks", "threads", "registers", "spilled", "shared", "blocks at once", "occupancy"});
  auto launch = launches.begin();
  for (const Step& step : plan.steps) {
    if (step.is_call()) continue;
    const auto figures = launch->kernel->figures(*launch);
    ++launch;
    if (!figures) continue;
    table.add({step.name, std::to_string(figures->blocks), std::to_string(figures->threads), std::to_string(figures->registers),
               bytes_text(figures->local_bytes), bytes_text(figures->shared_bytes), std::to_string(figures->resident_blocks),
               std::to_string(std::lround(100 * figures->occupancy)) + " %"});
  }
  return table.empty() ? "" : table.text();
}

std::string call_times(const Plan& plan) {
  std::vector<std::pair<double, std::string>> times;
  double all = 0;
  for (const Step& step : plan.steps) {
    if (!step.is_call()) continue;
    const auto begin = std::chrono::steady_clock::now();
    std::string call = step.call()->describe();
    times.emplace_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), std::move(call));
    all += times.back().first;
  }
  if (times.empty()) return "";
  std::ranges::stable_sort(times, std::greater<>(), &std::pair<double, std::string>::first);
  const auto line = [](double milliseconds, const std::string& what) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%10.1f ms  ", milliseconds);
    return text.data() + what + "\n";
  };
  std::string text = line(all, "to make " + std::to_string(times.size()) + " calls");
  for (const auto& [milliseconds, call] : times) text += line(milliseconds, call);
  return text;
}

bool wants(std::string_view stage) { return listed("TEGULA_PRINT", stage); }

void show_kernels(const Plan& plan, std::span<const runtime::PlannedLaunch> launches) {
  show("kernel", [&] { return kernel_text(plan, launches); });
  show("assembly", [&] { return assembly_text(plan, launches); });
  show("figures", [&] { return figures_table(plan, launches); });
}

}  // namespace tegula::compile
