import type { ArtifactRow } from '@berth/client/transcript'
import { saveFile } from '../api/save-file.ts'

/** Saves an Artifact as a file. */
export function saveArtifact(sessionId: string, { artifactId, name }: ArtifactRow): Promise<void> {
  return saveFile(
    `v1/sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(artifactId)}/content`,
    name,
  )
}
