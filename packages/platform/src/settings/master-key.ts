import { parseMasterKey } from '../storage/master-key.ts'
import type { Environment } from './environment.ts'

/** Reads the key that seals secrets at rest; undefined leaves it to the data directory's key file. */
export function readMasterKey(env: Environment): Buffer | undefined {
  return env.parsed(
    'BERTH_MASTER_KEY',
    'Key that seals secrets at rest: 32 bytes in base64 or hexadecimal, the same for all processes of a database ([operations](operations.md)). Set it for more than one machine, or to keep the key apart from the data.',
    '`master.key` in the data directory, made once',
    parseMasterKey,
    '32 bytes in base64 or hexadecimal digits',
  )
}
