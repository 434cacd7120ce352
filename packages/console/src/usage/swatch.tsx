/** Returns the token of a layer's colour. */
export const layerColour = (at: number, others: boolean): string =>
  others || at > 5 ? 'chart-rest' : `chart-${at + 1}`

/** The colour of a layer. */
export function Swatch({ at, others = false }: { at: number; others?: boolean }) {
  return (
    <span
      aria-hidden
      className="size-2.5 shrink-0 rounded-xs"
      style={{ background: `var(--${layerColour(at, others)})` }}
    />
  )
}
