// Notes between ranks about queued collectives, and their effects.

#include "tegula/dist/engines/ledger.h"

#include <gtest/gtest.h>

#include "tegula/dist/engines/engine_choice.h"

namespace tegula {
namespace {

using dist::Channel;
using dist::Intent;
using dist::Kind;
using dist::Ledger;

const std::vector<int> kRanks{4, 7, 9};

std::shared_ptr<const Intent> intent(int place, const dist::Collective& what) {
  const Line here = Line::current();
  return std::make_shared<const Intent>(Intent{dist::header_of(kRanks, place, what, here), here, std::string(dist::name(what.kind))});
}
const Channel kChannel{.members = dist::hash_of(kRanks)};

/// Carries the notes of `from` to `to`.
void carry(Ledger& from, int sender, Ledger& to, int receiver, bool status) {
  for (const auto& outgoing : from.outgoing(status)) {
    if (outgoing.to == receiver) to.heard(sender, outgoing.note);
  }
}

std::string thrown_by(Ledger& ledger) {
  try {
    ledger.compare();
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(Ledger, TellsTheNextRankAtOnceAndAllWithAStatus) {
  Ledger ledger;
  const auto what = intent(1, {Kind::AllReduce, f32, {3}});
  ledger.add(kChannel, kRanks, what, Ledger::Telling::AtOnce);
  auto out = ledger.outgoing(false);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].to, 9);
  EXPECT_EQ(out[0].note.number, 1u);
  EXPECT_TRUE(ledger.outgoing(false).empty());
  EXPECT_EQ(ledger.outgoing(true).size(), 2u);
  EXPECT_TRUE(ledger.outgoing(true).empty()) << "nothing has happened since";
  ledger.add(kChannel, kRanks, what, Ledger::Telling::WithStatus);
  EXPECT_TRUE(ledger.outgoing(false).empty());
  out = ledger.outgoing(true);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].note.number, 2u);
}

TEST(Ledger, ComparesOnceThisRankHasComeAsFar) {
  Ledger mine, theirs;
  theirs.add(kChannel, kRanks, intent(0, {Kind::AllReduce, f32, {3}}), Ledger::Telling::AtOnce);
  carry(theirs, 4, mine, 7, false);
  EXPECT_EQ(thrown_by(mine), "");
  mine.add(kChannel, kRanks, intent(1, {Kind::AllReduce, f32, {4}}), Ledger::Telling::AtOnce);
  const std::string what = thrown_by(mine);
  EXPECT_NE(what.find("all_reduce (sum) of f32 (3,) on rank 4 at "), std::string::npos) << what;
  EXPECT_NE(what.find("and all_reduce (sum) of f32 (4,) on rank 7 at "), std::string::npos) << what;
}

TEST(Ledger, WhoAgreesConfirmsWhatWasAsked) {
  Ledger mine, theirs;
  const dist::Collective sum{Kind::AllReduce, f32, {3}};
  mine.add(kChannel, kRanks, intent(0, sum), Ledger::Telling::AtOnce);
  EXPECT_TRUE(mine.awaits());
  carry(mine, 4, theirs, 7, false);
  EXPECT_EQ(thrown_by(theirs), "");
  EXPECT_TRUE(theirs.outgoing(false).empty()) << "it has not come as far";
  theirs.add(kChannel, kRanks, intent(1, sum), Ledger::Telling::WithStatus);
  EXPECT_EQ(thrown_by(theirs), "");
  carry(theirs, 7, mine, 4, false);
  EXPECT_FALSE(mine.awaits());
  mine.add(kChannel, kRanks, intent(0, sum), Ledger::Telling::WithStatus);
  EXPECT_FALSE(mine.awaits()) << "a replay asks nobody";
}

TEST(Ledger, TheStatusOfTheNextRankConfirms) {
  Ledger mine, next, previous;
  const dist::Collective sum{Kind::AllReduce, f32, {3}};
  mine.add(kChannel, kRanks, intent(0, sum), Ledger::Telling::AtOnce);
  next.add(kChannel, kRanks, intent(1, sum), Ledger::Telling::WithStatus);
  previous.add(kChannel, kRanks, intent(2, sum), Ledger::Telling::WithStatus);
  carry(previous, 9, mine, 4, true);
  EXPECT_EQ(thrown_by(mine), "");
  EXPECT_TRUE(mine.awaits());
  carry(next, 7, mine, 4, true);
  EXPECT_EQ(thrown_by(mine), "");
  EXPECT_FALSE(mine.awaits());
}

TEST(Ledger, AnEarlierDifferenceShowsInTheHash) {
  Ledger mine, theirs;
  const dist::Collective sum{Kind::AllReduce, f32, {3}}, gather{Kind::AllGather, f32, {3}};
  theirs.add(kChannel, kRanks, intent(0, gather), Ledger::Telling::WithStatus);
  theirs.add(kChannel, kRanks, intent(0, sum), Ledger::Telling::WithStatus);
  mine.add(kChannel, kRanks, intent(1, sum), Ledger::Telling::WithStatus);
  mine.add(kChannel, kRanks, intent(1, sum), Ledger::Telling::WithStatus);
  carry(theirs, 4, mine, 7, true);
  EXPECT_NE(thrown_by(mine).find("rank 4 with other collectives than rank 7 before this one, number 2"), std::string::npos);
}

TEST(Ledger, MessagesAreComparedAtBothEnds) {
  const Channel from_4_to_9{.members = dist::hash_of(kRanks), .from = 4, .to = 9};
  Ledger sender, receiver;
  sender.add(from_4_to_9, kRanks, intent(0, {Kind::Send, f32, {3}, {}, 2}), Ledger::Telling::AtOnce);
  receiver.add(from_4_to_9, kRanks, intent(2, {Kind::Receive, f32, {3}, {}, 0}), Ledger::Telling::AtOnce);
  carry(sender, 4, receiver, 9, false);
  carry(receiver, 9, sender, 4, false);
  EXPECT_EQ(thrown_by(receiver) + thrown_by(sender), "");
  sender.add(from_4_to_9, kRanks, intent(0, {Kind::Send, f32, {3}, {}, 2}), Ledger::Telling::AtOnce);
  receiver.add(from_4_to_9, kRanks, intent(2, {Kind::Receive, f64, {3}, {}, 0}), Ledger::Telling::AtOnce);
  carry(sender, 4, receiver, 9, false);
  EXPECT_NE(thrown_by(receiver).find("receive of f64 (3,) on rank 9"), std::string::npos);
}

TEST(Ledger, KnowsWhoIsLate) {
  Ledger mine, other;
  EXPECT_FALSE(mine.late());
  for (int i = 0; i < 2000; ++i) {
    mine.add(kChannel, kRanks, intent(0, {Kind::AllReduce, f32, {i}}), Ledger::Telling::WithStatus);
    if (i < 1998) other.add(kChannel, kRanks, intent(1, {Kind::AllReduce, f32, {i}}), Ledger::Telling::WithStatus);
  }
  carry(other, 7, mine, 4, true);
  EXPECT_EQ(thrown_by(mine), "");
  const std::vector<int> among{7};
  const auto late = mine.late(&among);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->number, 1999u);
  EXPECT_EQ(late->intent->header.sizes[0], 1998);
  EXPECT_EQ(mine.late()->ranks, (std::vector<int>{7, 9}));
}

TEST(EngineChoice, SaysWhyTheHostHasToTakeTurns) {
  const auto of = [](int rank, const char* card, const char* text, bool able = true) {
    dist::Candidate one{.rank = rank, .able = able};
    std::snprintf(one.identity.data(), one.identity.size(), "%s", card);
    std::snprintf(one.text.data(), one.text.size(), "%s", text);
    return one;
  };
  using All = std::vector<dist::Candidate>;
  EXPECT_EQ(dist::objection(All{of(0, "a", "NCCL 2.28.9"), of(1, "b", "NCCL 2.28.9")}), "");
  EXPECT_EQ(dist::objection(All{of(0, "a", "NCCL 2.28.9"), of(1, "", "no library libnccl.so.2", false)}),
            "rank 1: no library libnccl.so.2");
  EXPECT_EQ(dist::objection(All{of(2, "a", "NCCL 2.28.9"), of(3, "a", "NCCL 2.28.9")}), "rank 2 and rank 3 on one GPU, a");
  EXPECT_EQ(dist::objection(All{of(0, "a", "NCCL 2.28.9"), of(1, "b", "NCCL 2.27.3")}), "NCCL 2.28.9 on rank 0 and NCCL 2.27.3 on rank 1");
}

}  // namespace
}  // namespace tegula
