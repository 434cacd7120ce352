import type { EnvironmentArchive } from '@berth/contract'
import type { StoredArchive } from './archive-sql.ts'

/** Returns the archive resource. */
export function toArchive({ sha256, size_bytes, extension }: StoredArchive): EnvironmentArchive {
  return { archive: `sha256:${sha256}`, sizeBytes: size_bytes, extension }
}
