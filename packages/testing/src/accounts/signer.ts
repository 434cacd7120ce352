import { randomBytes, randomUUID } from 'node:crypto'
import type { Permission, Role } from '@berth/contract'
import { Mint } from '@berth/core/accounts/signing/mint.ts'
import { SigningKeys } from '@berth/core/accounts/signing/signing-keys.ts'
import { issuerOf, tokenTypes } from '@berth/core/identity/tokens/token-types.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'

const day = 86_400_000

/** Makes a signer that works as the account service does, with its keys in the database's table. */
export async function startSigner(
  db: Database,
  authUrl: string,
  masterKey = new MasterKey(randomBytes(32)),
): Promise<{ keys: SigningKeys; mint: Mint; issuer: string }> {
  const times = { signMs: 30 * day, publishAheadMs: day, tokenMs: 3_600_000 }
  const keys = new SigningKeys(db, systemClock, masterKey, times)
  await keys.poll()
  const issuer = issuerOf(authUrl)
  return { keys, mint: new Mint(keys, systemClock, () => issuer), issuer }
}

/** A member of an organization who has signed in. */
export interface SignedIn {
  readonly personId: string
  readonly membershipId: string
  readonly signInId: string
  readonly organizationId: string
  readonly email: string
}

/** Makes a person who has signed in as a member of an organization. */
export async function signInPerson(
  db: Database,
  organizationId: string,
  { role = 'member', permissions = [] }: { role?: Role; permissions?: readonly Permission[] } = {},
): Promise<SignedIn> {
  const [personId, membershipId, signInId] = [randomUUID(), randomUUID(), randomUUID()]
  const email = `robin.${personId.slice(0, 8)}@example.test`
  const now = new Date()
  await db.query('insert into people (id, email, name, created_at) values ($1, $2, $3, $4)', [
    personId,
    email,
    'Robin Marsh',
    now,
  ])
  await db.query(
    `insert into memberships (id, organization_id, person_id, role, permissions, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [membershipId, organizationId, personId, role, permissions, now],
  )
  await db.query(
    `insert into sign_ins (id, person_id, membership_id, organization_id, client_id, created_at, last_used_at)
     values ($1, $2, $3, $4, 'svc-cloud', $5, $5)`,
    [signInId, personId, membershipId, organizationId, now],
  )
  return { personId, membershipId, signInId, organizationId, email }
}

/** Returns the claims of a person's access token. */
export const personClaims = ({ membershipId, signInId, organizationId }: SignedIn) => ({
  aud: 'svc-cloud',
  client_id: 'svc-cloud',
  sid: signInId,
  membership: membershipId,
  organization: organizationId,
  scope: 'openid svc.cloud.access',
})

/** Signs an access token of a person. */
export const personToken = (mint: Mint, person: SignedIn): Promise<string> =>
  mint.sign(tokenTypes.person, person.personId, personClaims(person), 600)
