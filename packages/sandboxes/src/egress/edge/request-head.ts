/** The part of a request in front of its body, of either version of HTTP. */
export interface RequestHead {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Names and values, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Returns the pairs of Node's flat list of names and values. */
export function pairsOf(raw: readonly string[]): (readonly [name: string, value: string])[] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []))
}

/** Decodes the percent signs of a URL's part; what is no valid encoding stays as it is. */
export function decoded(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, part => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
}
