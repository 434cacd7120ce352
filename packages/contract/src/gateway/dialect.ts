/** Whose clients an operation of the gateway is for. */
export type Dialect = 'openai' | 'anthropic' | 'google'

/** The header, beside `Authorization`, by which a dialect's clients name their key. */
export const keyHeaders: Readonly<Record<Dialect, string | null>> = {
  openai: null,
  anthropic: 'x-api-key',
  google: 'x-goog-api-key',
}
