// expect: ^Seq2Seq: got tokens of shape \(5,\) and dtype i64, expected integers \(batch, length\)
#include <tegula/tegula.h>
#include <tegula/text.h>

void seq2seq_source() {
  using namespace tegula;
  models::Seq2Seq net({.source_vocabulary = 9, .target_vocabulary = 9, .embedding = 4, .hidden = 4});
  net(ones({5}, i64), ones({1, 3}, i64));  // here
}
