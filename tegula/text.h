#pragma once
// Texts: tokenizers, texts as data, word vectors, models of words. Link tegula::text (with CMake), or libtegula_text before libtegula.
#include "tegula/tegula.h"

// Texts as data.
#include "tegula/text/bleu.h"            // text::bleu
#include "tegula/text/labelled_texts.h"  // text::read_labelled_texts, text::LabelledSequences
#include "tegula/text/lines.h"           // text::read_lines, text::read_line_pairs
#include "tegula/text/squad.h"           // text::read_squad, text::answer_f1
#include "tegula/text/token_sets.h"      // text::TokenPairs, text::MaskedTokens
#include "tegula/text/token_windows.h"   // text::RandomWindows, text::Streams
#include "tegula/text/words.h"           // text::WordTokenizer, text::pad_sequences, text::TfIdf

// Tokenizers.
#include "tegula/text/tokens/token_stream.h"     // text::TokenStream
#include "tegula/text/tokens/tokenizer_files.h"  // text::read_tokenizer, text::train_bpe
#include "tegula/text/tokens/tokenizer_texts.h"  // text::characters_json
#include "tegula/text/tokens/wordpiece.h"        // text::train_wordpiece

// Word vectors.
#include "tegula/text/vectors/word2vec.h"         // text::train_word2vec
#include "tegula/text/vectors/word_evaluation.h"  // text::evaluate_analogies, text::tsne

// Models of words.
#include "tegula/models/text/answers.h"              // models::BertForQuestionAnswering, models::AnswerWindows
#include "tegula/models/text/bert.h"                 // models::Bert
#include "tegula/models/text/counted_vectors.h"      // models::counted_vectors: co-occurrence and singular vectors
#include "tegula/models/text/generate.h"             // models::TextGenerator
#include "tegula/models/text/gpt2.h"                 // models::Gpt2
#include "tegula/models/text/hugging_face.h"         // models::load_hugging_face
#include "tegula/models/text/language_model.h"       // models::load_language_model, models::TextWriter
#include "tegula/models/text/llama.h"                // models::Llama
#include "tegula/models/text/lstm_language_model.h"  // models::LstmLanguageModel
#include "tegula/models/text/seq2seq.h"              // models::Seq2Seq, models::Seq2SeqGenerator
#include "tegula/models/text/text_classifier.h"      // models::LstmClassifier, models::TransformerClassifier
#include "tegula/models/text/transformer.h"          // models::Transformer, models::TranslationGenerator
#include "tegula/models/text/translator.h"           // models::Translator: text to text, in a file
