import { createHash } from 'node:crypto'
import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openReviewedProject, type ReviewedProject } from '@berth/testing/workspaces/reviewed-project.ts'
import { describe, expect, it } from 'vitest'

const files = { 'app/f1': 'one\n', 'docs/d1': 'docs\n', 'docs/deep/d2': 'more\n', 'lib/l1': 'lib\n', top: 'top\n' }
const unreadable = "Git's index in the project cannot be read. Every file was compared by its content."

/** Changes an index in a way that git would not, and gives it the right digest again. */
async function forge(project: ReviewedProject, change: (index: Buffer) => void): Promise<void> {
  const at = join(project.path, '.git/index')
  const index = await readFile(at)
  change(index)
  const content = index.subarray(0, -20)
  await writeFile(at, Buffer.concat([content, createHash('sha1').update(content).digest()]))
}

describe('files that the agent has not checked out', () => {
  it.each([
    ['a sparse checkout', 'git sparse-checkout set app'],
    ['a sparse index', 'git sparse-checkout set --sparse-index app'],
    ['an index of version 4', 'git update-index --index-version 4; git sparse-checkout set app'],
    ['a split index', 'git update-index --split-index; git sparse-checkout set app'],
    ['files set aside one by one', 'git update-index --skip-worktree docs/d1 lib/l1; rm -r docs/d1 lib'],
  ])('are unchanged in %s', async (_, set) => {
    await using project = await openReviewedProject(files)
    await project.sh(`${set}; echo more >> app/f1`)
    const made = await project.review()
    expect(made.files).toMatchObject([{ path: 'app/f1', status: 'modified', additions: 1, deletions: 0 }])
    expect(made.notes).toEqual([])
  })

  it('are no changes, however long the list of them is', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`
      blob=$(git hash-object top); at=new/$(printf 'long%.0s' $(seq 60))
      seq 40000 | sed "s|.*|100644 $blob 0\\t$at/&|" | git update-index --index-info; echo more >> top`)
    expect(await project.changes()).toEqual(['modified top'])
  })

  it('are deleted if git has removed them from the index', async () => {
    await using project = await openReviewedProject(files)
    await project.sh('git sparse-checkout set app; git rm -q --sparse docs/d1')
    expect(await project.changes()).toEqual(['deleted docs/d1'])
  })

  it.each(['--no-sparse-index', '--sparse-index'])(
    'have the content that a merge gave them there with %s',
    async form => {
      await using project = await openReviewedProject(files)
      await project.sh(`
        git checkout -qb other; echo changed > docs/d1; echo new > docs/new; git add -A; git commit -qm other
        git checkout -q main; echo mine >> app/f1; git commit -qam mine
        git sparse-checkout set ${form} app; git merge -q -m merge other`)
      const made = await project.review()
      expect(made.files.map(({ path }) => path)).toEqual(['app/f1', 'docs/d1', 'docs/new'])
      expect(made.patch).toContain('-docs\n+changed\n')
    },
  )

  it('are given to git at once, however many a merge brings', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`
      git checkout -qb other; for n in $(seq 40); do echo $n > docs/new$n; done; git add -A; git commit -qm other
      git checkout -q main; echo mine >> app/f1; git commit -qam mine
      git sparse-checkout set app; git merge -q -m merge other`)
    expect(await project.changes()).toHaveLength(41)
    expect(await project.updates()).toEqual(Array(3).fill(expect.stringContaining('--index-info')))
  })

  it('count with the content that lies there all the same', async () => {
    await using project = await openReviewedProject(files)
    await project.sh('git update-index --skip-worktree docs/d1; echo other > docs/d1')
    await project.sh('git update-index --assume-unchanged lib/l1; echo other > lib/l1')
    await project.sh('git update-index --skip-worktree app/f1; rm -r app; echo file > app')
    expect(await project.changes()).toEqual(['added app', 'deleted app/f1', 'modified docs/d1', 'modified lib/l1'])
  })
})

describe("an agent's index", () => {
  it.each([
    ['is cut off', 'head -c 100 .git/index > cut; mv cut .git/index'],
    ['has another format', 'echo nonsense > .git/index'],
    ['is a link', 'mv .git/index index; ln -s ../index .git/index; echo index >> .git/info/exclude'],
    ['is a pipe', 'rm .git/index; mkfifo .git/index'],
    ['is a directory', 'rm .git/index; mkdir .git/index'],
  ])('counts as none if it %s', async (_, harm) => {
    await using project = await openReviewedProject(files)
    await project.sh(`echo more >> top; rm lib/l1; ${harm}`)
    const made = await project.review()
    expect(made.files.map(({ status, path }) => `${status} ${path}`)).toEqual(['deleted lib/l1', 'modified top'])
    expect(made.notes).toEqual([unreadable])
  })

  it.each([6, 7, 1000, 0xffff_ffff])('does no harm if it claims to hold %d entries', async count => {
    await using project = await openReviewedProject(files)
    await project.sh('echo more >> top; rm lib/l1')
    await forge(project, index => index.writeUInt32BE(count, 8))
    expect(await project.changes()).toEqual(['deleted lib/l1', 'modified top'])
  })

  it('is not read if it is larger than an index may be', async () => {
    await using project = await openReviewedProject(files)
    await truncate(join(project.path, '.git/index'), 1024 ** 4)
    expect((await project.review()).notes).toEqual([unreadable])
  })

  it('must be readable if the checkout is sparse', async () => {
    await using project = await openReviewedProject(files)
    await project.sh('git sparse-checkout set app; echo nonsense > .git/index')
    await expect(project.review()).rejects.toThrow("the project's checkout is sparse, and git's index cannot be read")
  })

  it('has git asked about halves of its paths if git refuses one', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`
      echo '*.log' > .git/info/exclude; mkdir logs linked; for n in $(seq 32); do echo $n > logs/$n.log; cp logs/$n.log linked; done
      git add -f logs linked; rm logs/9.log; mkdir logs/9.log; echo no > logs/9.log/a.log; mv linked .git/; ln -s .git/linked linked`)
    const changes = await project.changes()
    expect(changes).toHaveLength(32)
    expect(changes).toContain('added linked')
    const updates = (await project.updates()).filter(command => command.includes('--add'))
    // All, then two halves at each of five levels.
    expect(updates).toHaveLength(11)
  })

  it('names paths and content only as far as the base or the files bear it out', async () => {
    await using project = await openReviewedProject(files)
    const absent = 'f'.repeat(40)
    const entries = [
      `100644 ${absent} 0\tdocs/d1`,
      `100644 ${absent} 0\tnowhere`,
      `160000 ${absent} 0\tlib/l1`,
      `100644 ${absent} 0\tapp/f1/below`,
    ]
    await project.sh('git rm -q --cached docs/d1 lib/l1 app/f1; rm docs/d1 lib/l1')
    await project.sh(`printf '%s\\n' ${entries.map(entry => `'${entry}'`).join(' ')} | git update-index --index-info`)
    await project.sh('git update-index --skip-worktree docs/d1 nowhere lib/l1 app/f1/below')
    // Git itself would never write these names.
    await forge(project, index => index.write('../evil', index.indexOf('nowhere')))
    const made = await project.review()
    expect(made.files).toEqual([])
    expect(made.notes).toContain(
      "Git's index marks docs/d1 as not checked out, and names content that is not there. It is taken from the base.",
    )
  })
})
