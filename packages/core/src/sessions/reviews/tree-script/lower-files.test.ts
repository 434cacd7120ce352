import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLeaseScript } from '@berth/sandboxes/confined/lease-script.ts'
import { unmountBelow } from '@berth/sandboxes/linux/unmount-below.ts'
import { changesOf, overlaidLease, overlayUsers } from '@berth/testing/workspaces/overlaid-lease.ts'
import { openReviewedProject } from '@berth/testing/workspaces/reviewed-project.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { currentTree } from '../current-tree.ts'
import { reviewBounds } from '../review-place.ts'

/** A project whose files are lower trees, and reviews of it in both ways. */
async function overlaid(files: Readonly<Record<string, string>>) {
  const project = await openReviewedProject(files)
  const dir = mkdtempSync(join(tmpdir(), 'berth-overlaid-'))
  const { onDisk, shown } = overlayUsers
  execFileSync('chown', ['-hR', `${onDisk}:${onDisk}`, project.path])
  const safe = ['-c', 'safe.directory=*']
  const oidOf = (name: string) =>
    execFileSync('git', [...safe, 'rev-parse', name], { cwd: project.mirror, encoding: 'utf8' }).trim()
  const commit = oidOf('HEAD')
  const { files: lease, overlay, run: runIn } = await overlaidLease(dir, [project.path], commit)
  const tree = async (isListed: boolean, base = oidOf('HEAD^{tree}')) => {
    const { workspace, home, host: scratchDir } = lease
    const place = { workspace, home, scratchDir, uid: shown, objects: () => join(project.mirror, 'objects') }
    const run = startLeaseScript.bind(null, { ...place, ...(isListed && { overlay }) })
    const scratch = { mirror: project.mirror, objects: 'mirror', scratch: dir, bounds: reviewBounds }
    return await currentTree({ run, ...scratch }, base, AbortSignal.timeout(60_000))
  }
  return {
    base: oidOf('HEAD^{tree}'),
    below: project.path,
    tree,
    run(script: string) {
      const identity = 'git() { command git -c safe.directory=* -c user.name=a -c user.email=a@b "$@"; }'
      runIn(`${identity}\n${script}`, 'project')
    },
    async [Symbol.asyncDispose]() {
      await unmountBelow(dir)
      rmSync(dir, { recursive: true, force: true })
      await project[Symbol.asyncDispose]()
    },
  }
}

const files = {
  ...{ 'app/one': '1\n', 'app/in/two': '2\n', 'app/in/deep/three': '3\n', 'lib/in/two': 'of lib\n', top: 't\n' },
  '.gitignore': '*.log\n',
}
const paths = 'app app/one app/in app/in/two app/in/deep lib lib/in top new new.log .gitignore app/.gitattributes'
const lines = `echo more >> $1
  rm -rf $1
  rm -rf $1; mkdir -p $1
  chmod 755 $1
  git rm -rqf $1
  git init -q $1
  touch $1
  printf "* text\\n" > $1
  mv -T $1 $2
  cp -aT $1 $2
  ln -sfT $1 $2
  rm -rf $2; mv -T $1 $2
  git mv $1 $2
  git commit -qam all
  git sparse-checkout set app
  git stash -q`
const step = changesOf(lines, fc.constantFrom(...paths.split(' ')))

describe.skipIf(process.getuid?.() !== 0)('a review over lower trees', () => {
  it('gives the tree that a comparison of every file gives', async () => {
    const check = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async steps => {
      await using project = await overlaid(files)
      project.run(steps.join('\n'))
      const all = await Promise.allSettled([true, false].map(isListed => project.tree(isListed)))
      const [listed, compared] = all.map(one => (one.status === 'fulfilled' ? one.value : String(one.reason)))
      expect(listed).toBe(compared)
    })
    await fc.assert(check, { numRuns: 15 })
  })

  it('compares no file that nothing covers, if its base is what the layers show', async () => {
    await using project = await overlaid(files)
    // Nobody may do this; it shows which files are compared.
    appendFileSync(join(project.below, 'lib/in/two'), 'changed below')
    expect(await project.tree(true)).toBe(project.base)
    expect(await project.tree(false)).not.toBe(project.base)
    project.run('mv app/in lib/moved')
    expect(await project.tree(true)).toBe(await project.tree(false))
  })
})
