/**
 * Returns every value of a header, in order. Node joins or drops repeated headers in `headers`, so a repeated
 * `Authorization` shows only in the raw list.
 */
export function rawHeaderValues(rawHeaders: readonly string[], lowerCaseName: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === lowerCaseName)
}
