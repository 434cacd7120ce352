import type { Variant } from './built-page.ts'

/**
 * Returns the first variant whose coding a request accepts; the file itself if it accepts none (RFC 9110, section 12.5.3).
 * @param header of the request; absent: the file itself
 */
export function acceptedVariant(variants: readonly [...Variant[], Variant], header: string | undefined): Variant {
  const qualities = new Map(
    (header ?? '').split(',').map(item => {
      const [coding = '', ...parameters] = item
        .toLowerCase()
        .split(';')
        .map(part => part.trim())
      const quality = parameters.find(parameter => parameter.startsWith('q='))?.slice(2) ?? '1'
      return [coding, Number(quality) > 0] as const
    }),
  )
  const accepted = variants.find(
    ({ coding }) => coding !== null && (qualities.get(coding) ?? qualities.get('*') ?? false),
  )
  return accepted ?? (variants.at(-1) as Variant)
}
