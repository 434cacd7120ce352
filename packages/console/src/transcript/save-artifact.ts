import { BerthError } from '@berth/client'
import { browserFetch } from '../api/client.ts'
import type { ArtifactRow } from '../log/rows.ts'

/** Saves an Artifact as a file. A plain link could not say for which organization it asks. */
export async function saveArtifact(sessionId: string, { artifactId, name }: ArtifactRow): Promise<void> {
  const path = `/cloud/v1/sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(artifactId)}/content`
  const response = await browserFetch(path)
  if (!response.ok) throw new BerthError({ status: response.status, code: null })
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
