import type { PreviewDomain } from '../ports/preview-host.ts'

const LABEL = /^view-([a-z2-7]{20})$/

/** Returns the host of one view, which no other view and no preview of a port has. */
export const viewHost = ({ host }: PreviewDomain, label: string): string => `view-${label}.${host}`

/** Reads a `Host` header. @returns the label of the view, or null for a host of anything else */
export function readViewHost(domain: PreviewDomain, header: string | undefined): string | null {
  const host = header?.toLowerCase() ?? ''
  if (!host.endsWith(`.${domain.host}`)) return null
  return LABEL.exec(host.slice(0, -domain.host.length - 1))?.[1] ?? null
}
