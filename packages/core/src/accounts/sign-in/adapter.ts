import type { Clock } from '@berth/platform/kit/clock.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import {
  consumeRecord,
  deleteRecord,
  deleteRecordsOfGrant,
  insertRecord,
  putRecord,
  readRecord,
  type StoredRecord,
} from './record-sql.ts'
import { endSignIn } from './sign-in-sql.ts'

/** What the adapters of all kinds of records share. */
export interface RecordStore {
  readonly db: Database
  readonly clock: Clock
  readonly masterKey: MasterKey
  /** Makes the error for a code or token that another request has used at the same moment. */
  readonly alreadyUsed: () => Error
  /** Whether the request that is being served asks for tokens. */
  readonly isIssuing: () => boolean
  /** Makes the error for a client's assertion that another request has presented at the same moment. */
  readonly replayed: () => Error
  /** Makes the error for a request whose parameters are too long to be kept. */
  readonly tooLong: () => Error
}

/** Longest parameters of a request that a stranger may leave here, as JSON: `state`, `nonce` and all others together. */
const PARAMETER_CHARACTERS = 4_096

/**
 * How long a refresh token that was used and is presented again counts as one of several at the same moment. A busy process
 * begins to serve a request well after it was sent, so the order in which they are served tells nothing.
 */
const SAME_MOMENT_MS = 10_000

/**
 * Keeps one kind of the OpenID provider's records. Ids are stored as digests and payloads sealed, since a payload
 * names its own id and those of other records. So a copy of the database completes nobody's sign-in.
 *
 * The id of a grant is the id of a sign-in: the end of the one is the end of the other.
 */
export class RecordAdapter implements Adapter {
  readonly #kind: string
  readonly #store: RecordStore

  constructor(kind: string, store: RecordStore) {
    this.#kind = kind
    this.#store = store
  }

  /**
   * The provider looks for an assertion's record before it writes one, so two requests with one assertion may both find
   * none. The second write fails.
   * @throws the errors that `replayed` and `tooLong` make
   */
  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { db, clock, masterKey, replayed, tooLong } = this.#store
    // Those of an authorization or of a device, and those of a sign-out, which its session holds until it is confirmed.
    const sent = JSON.stringify([payload.params, payload.state])
    if (sent.length > PARAMETER_CHARACTERS) throw tooLong()
    const now = clock.now()
    const record = {
      kind: this.#kind,
      id,
      payload: masterKey.seal(JSON.stringify(payload), `oidc/${this.#kind}`).toString('base64'),
      expiresAt: expiresIn ? new Date(now.getTime() + expiresIn * 1000) : null,
    }
    if (this.#kind === 'ReplayDetection') {
      if (!(await insertRecord(db, record, now))) throw replayed()
      return
    }
    await putRecord(db, {
      ...record,
      grantId: payload.grantId,
      userCode: payload.userCode,
      // Only sessions are looked up by it, and an interaction carries the one of its session.
      uid: this.#kind === 'Session' ? payload.uid : undefined,
    })
  }

  /**
   * Of several requests that present one refresh token at the same moment, one succeeds and the others are refused, which
   * ends nothing. A token that comes back later is returned as consumed, and the provider ends the sign-in.
   * @throws the error that `alreadyUsed` makes
   */
  async find(id: string): Promise<AdapterPayload | undefined> {
    const record = await this.#read('digest', id)
    const { isIssuing, alreadyUsed } = this.#store
    if (record !== null && isIssuing() && this.#isSameMoment(record)) throw alreadyUsed()
    return this.#open(record)
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#open(await this.#read('uid_digest', uid))
  }

  /**
   * Finds a device's code for the page that takes it. The provider would refuse a code whose sign-in has begun, in any
   * browser: who left the page could not return, and the device would wait in vain. Only approval or refusal spends it.
   */
  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    const payload = this.#open(await this.#read('user_code_digest', userCode))
    return payload === undefined ? undefined : { ...payload, inFlight: false }
  }

  /**
   * The provider has read the record before, so without the comparison every one of several requests would succeed.
   * @throws the error that `alreadyUsed` makes
   */
  async consume(id: string): Promise<void> {
    const { db, clock, alreadyUsed } = this.#store
    if (!(await consumeRecord(db, this.#kind, id, clock.now()))) throw alreadyUsed()
  }

  async destroy(id: string): Promise<void> {
    const { db, clock } = this.#store
    if (this.#kind !== 'Grant') return deleteRecord(db, this.#kind, id)
    await db.transaction(async tx => {
      await deleteRecord(tx, this.#kind, id)
      await endSignIn(tx, id, clock.now())
    })
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await deleteRecordsOfGrant(this.#store.db, this.#kind, grantId)
  }

  /** Whether this is a refresh token whose first use was a moment ago. */
  #isSameMoment({ consumed_at: consumedAt }: StoredRecord): boolean {
    if (this.#kind !== 'RefreshToken' || consumedAt === null) return false
    return this.#store.clock.now().getTime() - consumedAt.getTime() < SAME_MOMENT_MS
  }

  #read(by: 'digest' | 'user_code_digest' | 'uid_digest', value: string): Promise<StoredRecord | null> {
    return readRecord(this.#store.db, this.#kind, by, value, this.#store.clock.now())
  }

  #open(record: StoredRecord | null): AdapterPayload | undefined {
    if (record === null) return undefined
    const { masterKey } = this.#store
    const opened = masterKey.open(Buffer.from(record.payload.sealed, 'base64'), `oidc/${this.#kind}`)
    return {
      ...JSON.parse(opened.toString()),
      ...(record.consumed_at !== null && { consumed: Math.floor(record.consumed_at.getTime() / 1000) }),
    }
  }
}
