import { openReviewedProject } from '@berth/testing/workspaces/reviewed-project.ts'
import { describe, expect, it } from 'vitest'

const files = { '.gitignore': 'node_modules/\n', top: 'top\n' }

describe('a repository inside the project', () => {
  it.each([
    ['nothing', 'true'],
    ['everything', 'git add .gitignore m.py link; git commit -qm inner'],
  ])('is taken as files, and the review says so, if it has committed %s', async (_, commit) => {
    await using project = await openReviewedProject(files)
    await project.sh(`
      mkdir -p api/node_modules/dep api/deep; cd api; git init -q; echo code > m.py; echo '*.tmp' > .gitignore; echo x > x.tmp
      echo dep > node_modules/dep/index.js; ln -s m.py link; cd deep; git init -q; echo deeper > n.py; cd ..; ${commit}`)
    const made = await project.review()
    expect(made.files.map(({ status, path }) => `${status} ${path}`)).toEqual([
      'added api/.gitignore',
      'added api/deep/n.py',
      'added api/link',
      'added api/m.py',
    ])
    expect(made.notes).toEqual(['api holds a repository of its own. Its files are taken as files of the project.'])
  })

  it('is still told apart by warnings of git, which are notes', async () => {
    await using project = await openReviewedProject(files)
    await project.sh("git init -q api; echo x > api/x; echo '// Copyright Acme, Inc.' > .gitattributes")
    const made = await project.review()
    expect(made.files.map(({ path }) => path)).toEqual(['.gitattributes', 'api/x'])
    expect(made.notes?.join('\n')).toContain('git: Acme, is not a valid attribute name: .gitattributes:1')
  })

  it('changes nothing about files that the base has there, and is nothing if it is empty or ignored', async () => {
    await using project = await openReviewedProject({ ...files, 'api/m.py': 'code\n' })
    await project.sh(
      'git init -q api; echo x >> api/m.py; git init -q empty; git init -q node_modules; echo x > node_modules/x',
    )
    const made = await project.review()
    expect(made.files.map(({ status, path }) => `${status} ${path}`)).toEqual(['modified api/m.py'])
    expect(made.notes).toEqual([])
  })

  it('is left out if it is a linked worktree, and the review says so', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`
      git worktree add -q .claude/worktrees/one; git worktree add -q -b two '.wt [x]'; git init -q api; cd api; echo x > x
      git add x; git commit -qm x; git worktree add -q ../other; git worktree add -q inner; cd ..
      # As the paths are inside of a sandbox.
      find . -name .git -type f -o -path '*/worktrees/*/gitdir' | while read -r each; do
        sed -i "s,$PWD,/workspace/project,g" "$each"; done`)
    const made = await project.review()
    expect(made.files.map(({ path }) => path)).toEqual(['api/x'])
    expect(made.notes?.toSorted()).toEqual([
      ".claude/worktrees/one is a linked worktree of the project's repository, and is left out.",
      ".wt [x] is a linked worktree of the project's repository, and is left out.",
      'api holds a repository of its own. Its files are taken as files of the project.',
      'api/inner is a linked worktree, and is left out.',
      'other is a linked worktree of another repository, and is left out.',
    ])
  })
})

describe('a submodule', () => {
  it('moves only to a commit that a remote branch of its repository holds', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`git submodule --quiet add ${project.mirror} libs/sub`)
    expect(await project.changes()).toEqual(['added .gitmodules', 'added libs/sub'])
    await project.sh(
      'cd libs/sub; git checkout -q --detach; git commit -q --allow-empty -m one; git commit -q --allow-empty -m two',
    )
    await expect(project.review()).rejects.toThrow('no remote branch of the submodule libs/sub holds its commit')
    await project.sh('cd libs/sub; git push -q origin HEAD:refs/heads/mine; git fetch -q; git checkout -q HEAD~1')
    expect(await project.changes()).toEqual(['added .gitmodules', 'added libs/sub'])
  })

  it('is known by its entry in .gitmodules, and nothing runs that its settings or the entry name', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`
      git clone -q ${project.mirror} sub; printf '[core]\\n\\tfsmonitor = touch /scratch/mark\\n' >> sub/.git/config
      git config -f .gitmodules submodule.sub.path sub; git config -f .gitmodules include.path /workspace/evil`)
    expect(await project.changes()).toEqual(['added .gitmodules', 'added sub'])
  })
})
