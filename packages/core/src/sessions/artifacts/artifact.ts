import type { Artifact, ArtifactKind } from '@berth/contract'

export interface ArtifactRow {
  readonly session_id: string
  readonly id: string
  readonly run_id: string | null
  readonly kind: ArtifactKind
  readonly name: string
  readonly media_type: string
  readonly size_bytes: number
  readonly sha256: string
  readonly created_at: Date
}

/** Returns the Artifact manifest. */
export function toArtifact(row: ArtifactRow): Artifact {
  return {
    id: row.id,
    sessionId: row.session_id,
    ...(row.run_id !== null && { runId: row.run_id }),
    kind: row.kind,
    name: row.name,
    mediaType: row.media_type,
    sizeBytes: row.size_bytes,
    sha256: row.sha256,
    createdAt: row.created_at.toISOString(),
  }
}

/**
 * Returns the `Content-Disposition` of a download (RFC 6266). The agent chose the name, so the plain form keeps only
 * letters, digits and `._-`, and the exact name is percent-encoded.
 */
export function attachment(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/[^A-Za-z0-9._-]/g, '_')
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*!]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
