import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { greetScript, testScript } from '@berth/supervisor/sample-scripts'
import { runGit } from '../../git/run-git.ts'
import { GitHostError } from '../git-host.ts'
import { localPath } from './repositories.ts'

const files = {
  'README.md': '# Greeter\n\nGreets whoever asks.\n\n    ./greet.sh Ada\n',
  'greet.sh': greetScript,
  'test.sh': testScript,
}

const sized = (content: string) => `data ${Buffer.byteLength(content)}\n${content}\n`

const history = `commit refs/heads/main
committer Berth <berth@localhost> 1760000000 +0000
${sized('Greet by name')}${Object.entries(files)
  .map(([path, content]) => `M ${path.endsWith('.sh') ? 100755 : 100644} inline ${path}\n${sized(content)}`)
  .join('')}done
`

/**
 * Makes the sample repository `<root>/<owner>/<name>.git`, unless something of that name is there.
 * @throws GitHostError `unavailable` if the directory cannot be written
 */
export async function provideSample(root: string, owner: string, name: string): Promise<void> {
  if ((await localPath(root, owner, name)) !== null) return
  // Its name begins with a dot, so no list shows it, and readers find the repository whole or not at all.
  const making = join(root, owner, `.${name}-${randomUUID()}`)
  try {
    await mkdir(join(root, owner), { recursive: true })
    await runGit(['init', '--bare', '--quiet', '--initial-branch=main', making])
    await runGit(['fast-import', '--quiet', '--done'], { gitDir: making, input: history })
    await rename(making, join(root, owner, `${name}.git`))
  } catch (cause) {
    // Another request has made it meanwhile.
    if ((await localPath(root, owner, name)) !== null) return
    throw new GitHostError('unavailable', 'the sample repository cannot be made', { cause })
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}
