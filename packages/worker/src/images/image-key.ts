import { createHash } from 'node:crypto'
import { arch } from 'node:process'
import type { Source } from '@berth/contract'
import type { StoredDocument } from '@berth/core/environments/document.ts'
import type { ImageKey } from '@berth/core/environments/images/image-sql.ts'
import { gitReaderOf } from '@berth/core/repositories/git-reader.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { canonicalJson } from '@berth/platform/kit/request-hash.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'

/** Sandboxes of one platform start from the same images. */
export const platformOf = ({ kind }: Pick<SandboxDriver, 'kind'>): string => `${kind}/${arch}`

/** Whether sandboxes of a document start from an image of what its setup makes. */
export const isPrebuilt = ({ prebuild, setup }: StoredDocument): boolean => prebuild && setup !== ''

/** Returns the key of a lease's image. With `github`, setup could read what the Session's owner may read. */
export function imageKeyOf(
  lease: Pick<LeaseRow, 'organization_id' | 'environment_id' | 'environment_revision'>,
  document: StoredDocument,
  session: { readonly source: Source | null } & Parameters<typeof gitReaderOf>[0],
  platform: string,
): ImageKey {
  const { organization_id: organizationId, environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) throw new Error('the lease has no environment')
  const { source } = session
  const owner = document.github ? gitReaderOf(session) : null
  const commit =
    source === null ? null : { repositoryId: source.repositoryId, branch: source.baseBranch, oid: source.baseOid }
  const variant = canonicalJson({ commit, owner, platform })
  return { organizationId, environmentId, revision, variant: createHash('sha256').update(variant).digest('hex') }
}
