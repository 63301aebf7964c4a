#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

Statement::Statement(const Statement& other) = default;
Statement::Statement(Statement&& other) noexcept = default;
Statement& Statement::operator=(const Statement& other) = default;
Statement& Statement::operator=(Statement&& other) noexcept = default;
Statement::~Statement() = default;

}  // namespace tegula::simt
