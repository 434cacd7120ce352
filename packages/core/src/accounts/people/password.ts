import { argon2, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { HashQueue } from './hash-queue.ts'

/** OWASP's second choice for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Most that a stored hash may ask for, in KiB and in passes. */
const MOST = { memory: 262_144, passes: 16, parallelism: 16 }

const queue = new HashQueue({ atOnce: 2, mostWaiting: 16 })
const argon = promisify(argon2)
const deriveScrypt = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

/**
 * Hashes a password with argon2id and a salt of its own.
 *
 * @returns a PHC string, `$argon2id$v=19$m=…,t=…,p=…$salt$hash`
 * @throws ApiError 503 if too many passwords are being hashed
 */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(SALT_BYTES)
  const hash = await queue.run(() => digest(password, nonce, COST, HASH_BYTES))
  const { memory, passes, parallelism } = COST
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(hash)}`
}

/**
 * Compares a password with a stored hash. Without a stored hash it hashes all the same, so that the time it takes does
 * not tell whether an account exists or has a password.
 *
 * @param stored a PHC string of argon2id, or `scrypt$N$r$p$salt$hash` as earlier releases stored it; null for none
 * @returns `rehash` if the password holds and its hash should be stored anew
 * @throws ApiError 503 if too many passwords are being hashed
 */
export async function verifyPassword(
  stored: string | null,
  password: string,
): Promise<{ readonly holds: boolean; readonly rehash: boolean }> {
  if (stored === null) {
    await queue.run(() => digest(password, Buffer.alloc(SALT_BYTES), COST, HASH_BYTES))
    return { holds: false, rehash: false }
  }
  const known = parseStored(stored)
  const hash = await queue.run(() => known.derive(password))
  const holds = timingSafeEqual(hash, known.hash)
  return { holds, rehash: holds && known.outdated }
}

interface Stored {
  readonly hash: Buffer
  readonly outdated: boolean
  derive(password: string): Promise<Buffer>
}

function parseStored(stored: string): Stored {
  const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored)
  if (phc !== null) {
    const [memory, passes, parallelism] = [Number(phc[1]), Number(phc[2]), Number(phc[3])]
    if (memory > MOST.memory || passes > MOST.passes || parallelism > MOST.parallelism) throw unreadable()
    const cost = { memory, passes, parallelism }
    const [salt, hash] = [Buffer.from(phc[4] ?? '', 'base64'), Buffer.from(phc[5] ?? '', 'base64')]
    const outdated = memory < COST.memory || passes < COST.passes
    return { hash, outdated, derive: password => digest(password, salt, cost, hash.length) }
  }
  const [scheme, n, r, p, salt, text, ...rest] = stored.split('$')
  if (scheme !== 'scrypt' || text === undefined || salt === undefined || rest.length > 0) throw unreadable()
  const cost = { N: Number(n), r: Number(r), p: Number(p), maxmem: 128 * 1024 * 1024 }
  const hash = Buffer.from(text, 'base64url')
  const bytes = Buffer.from(salt, 'base64url')
  return { hash, outdated: true, derive: password => deriveScrypt(password, bytes, hash.length, cost) }
}

const digest = (message: string, nonce: Buffer, cost: typeof COST, tagLength: number): Promise<Buffer> =>
  argon('argon2id', { message, nonce, tagLength, ...cost })

/** PHC strings carry base64 without padding. */
const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

const unreadable = (): Error => new Error('a stored password hash has a form that this release does not know')
