// CopyOnEdit: copies share one object until one of them is edited.

#include "tegula/core/copy_on_edit.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tegula {
namespace {

using Numbers = CopyOnEdit<std::vector<int>>;

TEST(CopyOnEdit, CopiesShareOneObject) {
  const Numbers a = std::vector<int>{1, 2, 3}, b = a;  // NOLINT: a copy is what is tested
  EXPECT_TRUE(a.is_shared_with(b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(&*a, &*b);
}
TEST(CopyOnEdit, AnEditedCopyIsItsOwn) {
  Numbers a = std::vector<int>{1, 2, 3}, b = a;
  b.edit().push_back(4);
  EXPECT_FALSE(a.is_shared_with(b));
  EXPECT_EQ(a->size(), 3u);
  EXPECT_EQ(b->size(), 4u);
  const auto* const own = &*b;
  b.edit().pop_back();
  EXPECT_EQ(&*b, own);  // nobody shares it
  EXPECT_EQ(a, b);      // other objects, equal values
}
TEST(CopyOnEdit, WithoutAValueIsEmptyAndMayBeEdited) {
  Numbers a, b = std::vector<int>{7};
  EXPECT_TRUE(a->empty());
  a.edit().push_back(7);
  EXPECT_EQ(a, b);
  const Numbers c = std::move(b);
  EXPECT_TRUE(b->empty());  // NOLINT: moved from
  EXPECT_EQ(c->size(), 1u);
}

}  // namespace
}  // namespace tegula
