/**
 * Every value a header was sent with, in order. Node joins or drops repeated headers before they reach `headers`, so a
 * repeated `Authorization` shows only in the raw list.
 */
export function rawHeaderValues(rawHeaders: readonly string[], lowerCaseName: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === lowerCaseName)
}
