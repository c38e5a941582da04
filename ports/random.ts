/**
 * Port: chance, for jitter and names that need not be guessable. Guarantees: `next` is in [0, 1).
 */
export interface Random {
  next(): number
}
