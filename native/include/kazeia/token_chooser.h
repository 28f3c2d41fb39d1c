// How llama.cpp's samplers choose the next token, from the few that they could choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kazeia/likely_tokens.h"

struct llama_sampler;  // llama.cpp's. NOLINT(readability-identifier-naming)

namespace kazeia {

/// What becomes of a model's logits, token after token. Owns neither chain nor grammar: they must outlive their use.
/// One thread at a time.
class TokenChooser {
 public:
  explicit TokenChooser(std::size_t n_tokens);
  ~TokenChooser();
  TokenChooser(const TokenChooser&) = delete;
  TokenChooser& operator=(const TokenChooser&) = delete;

  /// @param chain llama.cpp's samplers.
  /// @param kept how many tokens the chain keeps before it looks at their order; 0: any number.
  /// @param window of so many last tokens that were said the chain may change the logits.
  void use(llama_sampler* chain, std::size_t kept, std::size_t window);

  /// What is chosen from now on keeps to it; nullptr: to none.
  void keep_to(llama_sampler* grammar) { grammar_ = grammar; }

  /// The next token, which chain and grammar accept and which counts as said; -1 where the grammar leaves none.
  /// @param logits (n_tokens,) float32.
  std::int32_t choose(const float* logits);

  /// What was said since the last restart.
  [[nodiscard]] const std::vector<std::int32_t>& said() const { return said_; }
  void restart() { said_.clear(); }

 private:
  struct Candidates;
  std::int32_t draw(const float* logits, bool by_grammar);
  std::size_t offer_eligible(const float* logits);
  bool allows(std::int32_t token);

  std::size_t n_tokens_;
  llama_sampler* chain_ = nullptr;
  llama_sampler* grammar_ = nullptr;
  std::size_t kept_ = 0;
  std::size_t window_ = 0;
  LikelyTokens likely_;
  std::vector<std::int32_t> said_;
  std::vector<std::int32_t> penalised_;  // each once, ascending
  std::vector<std::int32_t> eligible_;
  std::unique_ptr<Candidates> candidates_;
};

}  // namespace kazeia
