// tegula summary: layers, shapes, parameters and work of a model, read off its graph.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "commands.h"
#include "progress.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/print.h"

namespace tegula::app {
namespace {

struct Row {
  std::string layer;    // "conv1", or for layers without parameters the op: "max_pool2d"
  std::string weights;  // "weight (12, 1, 3, 3), bias (12,)"
  Shape output;
  std::int64_t parameters = 0;
  double operations = 0;  // floating-point, of matmul, convolution and pooling
};

std::string layer_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

std::vector<Row> rows_of(const Tensor& x, const Tensor& y, const Parameters& state) {
  std::vector<Row> rows;
  std::map<std::string, std::size_t> row_of;
  std::unordered_map<const Node*, std::string> layer;  // of a parameter, and of what is computed from parameters alone
  std::unordered_set<const Node*> data{x.node().get()};  // what depends on x
  for (const Parameter& p : state) layer[p.cell->value().node().get()] = layer_of(p.name);
  std::map<std::string, int> unnamed;  // op -> how many of them so far
  const auto row = [&](const std::string& name) -> Row& {
    const auto [found, added] = row_of.emplace(name, rows.size());
    if (added) rows.push_back({.layer = name});
    return rows[found->second];
  };
  for (const Node* node : nodes_below({&y, 1})) {
    if (node->has_value()) continue;
    const Role role = node->op().role();
    std::string owner;
    const auto inputs = node->inputs();
    for (const auto& input : inputs) {
      if (const auto found = layer.find(input.get()); found != layer.end()) owner = found->second;
    }
    if (std::none_of(inputs.begin(), inputs.end(), [&](const auto& input) { return data.contains(input.get()); })) {
      if (!owner.empty()) layer[node] = owner;
      continue;
    }
    data.insert(node);
    const bool counts = role == Role::Library || role == Role::Kernel;
    if (owner.empty() && !counts) continue;
    if (owner.empty()) {
      owner = std::string(node->op().name());
      if (const int before = unnamed[owner]++; before > 0) owner += " " + std::to_string(before + 1);
    }
    Row& r = row(owner);
    if (numel(node->shape()) >= numel(r.output) || r.output.empty()) r.output = node->shape();
    if (role == Role::Library) {
      std::vector<Shape> shapes;
      for (const auto& input : inputs) shapes.push_back(input->shape());
      r.operations += static_cast<const LibraryOp&>(node->op()).operations(shapes, node->shape());
    }
  }
  return rows;
}

void print(const std::string& title, const std::vector<Row>& rows, std::int64_t batch) {
  std::vector<std::vector<std::string>> table{{"layer", "weights", "output", "parameters", "FLOP"}};
  std::int64_t parameters = 0;
  double operations = 0;
  for (const Row& r : rows) {
    table.push_back({r.layer, r.weights, to_string(r.output), r.parameters ? std::to_string(r.parameters) : "-",
                     r.operations > 0 ? quantity(r.operations) : "-"});
    parameters += r.parameters;
    operations += r.operations;
  }
  table.push_back({"total", "", "", std::to_string(parameters), quantity(operations)});
  std::vector<int> width(table[0].size());
  for (const auto& line : table) {
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], static_cast<int>(line[c].size()));
  }
  std::printf("%s\n\n", title.c_str());
  for (std::size_t l = 0; l < table.size(); ++l) {
    std::string line;
    for (std::size_t c = 0; c < table[l].size(); ++c) line += format(c < 3 ? "%-*s   " : "%*s   ", width[c], table[l][c].c_str());
    line.erase(line.find_last_not_of(' ') + 1);
    if (l == 1 || l + 1 == table.size()) {
      int total = -3;
      for (int w : width) total += w + 3;
      std::printf("%s\n", std::string(static_cast<std::size_t>(total), '-').c_str());
    }
    std::printf("%s\n", line.c_str());
  }
  std::printf("\nFor a batch of %lld. Counted are multiplications and additions of matrix products, convolutions and pooling.\n",
              static_cast<long long>(batch));
}

void run(const ModelChoice& choice, std::int64_t batch) {
  models::Model model = make_model(choice);
  eval(model.net);
  const Parameters state = nn::state(model.net);
  for (const Parameter& p : state) eval(p.read());
  Shape shape = model.input;
  shape.insert(0, batch);
  const HostArray images = HostArray::empty(f32, shape);
  std::fill_n(images.values<float>().data(), images.size(), 0.0f);
  const Tensor x = from_array(images);
  std::vector<Row> rows = rows_of(x, model.net(x), state);
  const Parameters trained = parameters(model.net);
  for (const Parameter& p : trained) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.layer == layer_of(p.name); });
    if (row == rows.end()) continue;
    const Shape size = p.read().shape();
    row->weights +=
        (row->weights.empty() ? "" : ", ") + p.name.substr(row->layer.empty() ? 0 : row->layer.size() + 1) + " " + to_string(size);
    row->parameters += numel(size);
  }
  const auto entry = models::find(model.name);
  print(model.name + ": " + std::string(entry.description) + (model.options.batch_norm ? ", batch normalisation" : "") +
            (model.options.dropout > 0 ? format(", dropout %g", model.options.dropout) : ""),
        rows, batch);
}

}  // namespace

void add_summary(CLI::App& app) {
  struct Choice {
    ModelChoice model;
    std::int64_t batch = 1;
  };
  auto choice = std::make_shared<Choice>();
  CLI::App& command = *app.add_subcommand("summary", "layers, shapes, parameters and work of a model");
  add_options(command, choice->model);
  command.get_option("model")->description("a model file, or one of: " + command.get_option("model")->get_description());
  command.add_option("--batch", choice->batch, "images at once")->check(positive())->capture_default_str()->type_name("N");
  add_device_option(command);
  command.callback([choice] { run(choice->model, choice->batch); });
}

}  // namespace tegula::app
