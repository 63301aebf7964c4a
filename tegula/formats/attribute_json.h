#pragma once
// Attributes and JSON: one visitor writes an op's attributes, another assigns them. For graph_json.cpp.

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tegula/graph/attributes.h"
#include "tegula/graph/op.h"
#include "tegula/graph/regions/region.h"

namespace tegula::formats {

/// A number as JSON: whole ones and doubles are told apart, what JSON has no number for is a text ("inf", "nan:7ff8000000000000").
nlohmann::json number_json(const Number& number);
/// The reverse; nothing for a value that is no number.
std::optional<Number> number_from_json(const nlohmann::json& json);

class AttributeWriter final : public Attributes {
 public:
  /// `body`: for a loop, the JSON of its region.
  explicit AttributeWriter(nlohmann::json body = nullptr) : body_(std::move(body)) {}
  nlohmann::json json = nlohmann::json::object();

  void region(std::string_view name, Ref<const Region>& value) override;
  void options(std::string_view name, NamedOptions& values) override;

 private:
  void variant(std::uint64_t) override {}
  void flag(std::string_view name, bool& value) override { put(name, value); }
  void integer(std::string_view name, std::int64_t& value) override { put(name, value); }
  void number(std::string_view name, Number& value) override { put(name, number_json(value)); }
  void dims(std::string_view name, Dims& value) override;
  void list(std::string_view name, std::vector<std::int64_t>& value) override { put(name, value); }
  void text(std::string_view name, std::string& value) override { put(name, value); }
  void one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) override;
  bool presence(std::string_view, bool present) override { return present; }
  void put(std::string_view name, nlohmann::json value) { json[std::string(name)] = std::move(value); }

  nlohmann::json body_;
};

class AttributeReader final : public Attributes {
 public:
  using ReadRegion = std::function<Ref<const Region>(const nlohmann::json&)>;
  /// Called with the fault; does not return.
  using Complain = std::function<void(const std::string& got, const std::string& expected)>;
  /// `json` must outlive the reader.
  AttributeReader(const nlohmann::json& json, const Signature& node, ReadRegion read_region, Complain complain)
      : json_(json),
        node_(node),
        read_region_(std::move(read_region)),
        complain_(std::move(complain)) {}

  bool assigns() const override { return true; }
  const Signature* made_for() const override { return &node_; }
  void require(bool holds, std::string_view attribute) const override;
  void region(std::string_view name, Ref<const Region>& value) override;
  void options(std::string_view name, NamedOptions& values) override;
  /// Complains of attributes that were not read.
  void require_all_read() const;

 private:
  void variant(std::uint64_t) override {}
  void flag(std::string_view name, bool& value) override;
  void integer(std::string_view name, std::int64_t& value) override;
  void number(std::string_view name, Number& value) override;
  void dims(std::string_view name, Dims& value) override;
  void list(std::string_view name, std::vector<std::int64_t>& value) override;
  void text(std::string_view name, std::string& value) override;
  void one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) override;
  bool presence(std::string_view name, bool present) override;
  const nlohmann::json& at(std::string_view name);
  [[noreturn]] void refuse(std::string_view name, const std::string& expected) const;

  const nlohmann::json& json_;
  const Signature& node_;
  ReadRegion read_region_;
  Complain complain_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace tegula::formats
