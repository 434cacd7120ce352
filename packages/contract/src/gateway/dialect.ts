/** The provider whose clients an operation of the gateway serves. */
export type Dialect = 'openai' | 'anthropic' | 'google'

/** The header, besides `Authorization`, in which a dialect's clients send their key. */
export const keyHeaders: Readonly<Record<Dialect, string | null>> = {
  openai: null,
  anthropic: 'x-api-key',
  google: 'x-goog-api-key',
}
