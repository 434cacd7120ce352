import { randomBytes } from 'node:crypto'

/** Where previews are served: a scheme, and the host behind the label with its port. */
export interface PreviewDomain {
  readonly scheme: 'http' | 'https'
  /** `preview.example`, or `localhost:4100`. */
  readonly host: string
}

/** A host of a preview. */
export interface PreviewHost {
  /** The port that it shows; null if it shows an artifact. */
  readonly port: number | null
  readonly label: string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'
const LABEL = /^(view|[1-9]\d{0,4})-([a-z2-7]{20})$/

/** Returns a label that nobody can guess, for a host of its own. */
export const randomLabel = (): string => Array.from(randomBytes(20), byte => LETTERS[byte & 31]).join('')

export const previewHost = ({ host }: PreviewDomain, { port, label }: PreviewHost): string =>
  `${port ?? 'view'}-${label}.${host}`

/** Reads a `Host` header. @returns null for a host that is not below the domain, `other` for one that names no preview */
export function readPreviewHost(domain: PreviewDomain, header: string | undefined): PreviewHost | 'other' | null {
  const host = header?.toLowerCase() ?? ''
  if (!host.endsWith(`.${domain.host}`)) return null
  const [, kind, label] = LABEL.exec(host.slice(0, -domain.host.length - 1)) ?? []
  if (kind === undefined || label === undefined) return 'other'
  return { port: kind === 'view' ? null : Number(kind), label }
}
