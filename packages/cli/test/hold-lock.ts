/** Takes the lock of a file, says so, and holds it until it is killed. */
import { defaultPlatform } from '@berth/client'
import { lockFile } from '../src/profiles/file-lock.ts'

const lock = await lockFile(process.argv[2] ?? '', defaultPlatform)
process.stdout.write('held\n')
process.stdin.resume()
process.stdin.once('end', () => lock[Symbol.dispose]())
