import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { startConfinedGit } from './start-git.ts'

/** A request of git's smart HTTP protocol that reads a repository. */
export type UploadPackRequest = 'info/refs' | 'git-upload-pack'

const MIB = 1024 ** 2
const bounds = { memoryBytes: 512 * MIB, cpuSeconds: 300, fileBytes: MIB }
const TIMEOUT_MS = 5 * 60_000
/** How long a client may take for its body; git has it ready when it asks. */
const BODY_MS = 30_000
/** The wants and haves of a fetch; far above those of the largest repositories. */
const MAX_BODY_BYTES = 32 * MIB

/**
 * Lets a client fetch from a bare repository of this machine, by git's smart HTTP protocol. What the client sends is
 * read by a confined git, which sees nothing but the repository and cannot write there.
 */
export async function serveUploadPack(
  gitDir: string,
  what: UploadPackRequest,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { 'git-protocol': requested, 'content-encoding': encoding } = incoming.headers
  const protocol = typeof requested === 'string' && /^version=[0-2]$/.test(requested) ? requested : undefined
  const advertises = what === 'info/refs'
  // Partial clones come back for objects by their names.
  const settings = ['uploadpack.allowFilter', 'uploadpack.allowAnySHA1InWant'].flatMap(name => ['-c', `${name}=true`])
  const mode = advertises ? ['--http-backend-info-refs'] : []
  const git = await startConfinedGit([...settings, 'upload-pack', '--stateless-rpc', '--strict', ...mode, gitDir], {
    view: { reads: [gitDir], writes: [] },
    env: protocol === undefined ? {} : { GIT_PROTOCOL: protocol },
    bounds,
  })
  const timer = setTimeout(git.kill, TIMEOUT_MS)
  outgoing.once('close', git.kill)
  try {
    outgoing.writeHead(200, {
      'Content-Type': `application/x-git-upload-pack-${advertises ? 'advertisement' : 'result'}`,
      'Cache-Control': 'no-cache',
    })
    // The newer protocol has no such line.
    if (advertises && protocol !== 'version=2') outgoing.write('001e# service=git-upload-pack\n0000')
    const body = encoding === 'gzip' ? incoming.pipe(createGunzip()) : incoming
    const late = setTimeout(git.kill, BODY_MS)
    const fed =
      git.stdin === null
        ? undefined
        : pipeline(body, bounded, git.stdin)
            .catch(git.kill)
            .finally(() => clearTimeout(late))
    await pipeline(git.stdout, outgoing, { end: false })
    const { exitCode } = await git.ended
    await fed
    // A cut must never look like an end.
    if (exitCode === 0) outgoing.end()
    else outgoing.destroy()
  } catch {
    git.kill()
    outgoing.destroy()
  } finally {
    clearTimeout(timer)
    outgoing.off('close', git.kill)
  }
}

async function* bounded(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large')
    yield chunk
  }
}
