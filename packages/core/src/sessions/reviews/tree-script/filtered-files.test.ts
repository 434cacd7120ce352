import { createHash } from 'node:crypto'
import { cp, rename, rm } from 'node:fs/promises'
import { openReviewedProject, type ReviewedProject } from '@berth/testing/workspaces/reviewed-project.ts'
import { describe, expect, it } from 'vitest'

const stored = 'GBXRA=frperg\n'
const secret = 'TOKEN=secret\n'
const rot13 = "tr 'A-Za-z' 'N-ZA-Mn-za-m'"
const crypt = {
  '.gitattributes': '*.env filter=crypt\n*.psd filter=lfs diff=lfs merge=lfs -text\n*.ipynb filter=strip\n',
  'prod.env': stored,
  README: 'one\n',
}
/** As `git-crypt unlock` does, with a filter that turns the letters of the stored form. */
const unlock = `
  git config filter.crypt.smudge "${rot13}"; git config filter.crypt.clean "${rot13}"
  rm prod.env; git checkout -q prod.env; touch -d '2020-01-01' prod.env; git update-index --refresh -q`

const image = 'the whole image\n'
const pointer = (content: string) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${createHash('sha256').update(content).digest('hex')}\nsize ${content.length}\n`

const refusal = (project: ReviewedProject) =>
  project.review().then(
    made => `reviewed ${made.patch}`,
    error => String(error),
  )

describe('a file that a filter has decrypted', () => {
  it('is unchanged if the agent has not touched it, also after its workspace was restored', async () => {
    await using project = await openReviewedProject(crypt)
    await project.sh(`${unlock}; echo two >> README`)
    expect(await project.read('prod.env')).toBe(secret)
    const made = await project.review()
    expect(made.files.map(({ path }) => path)).toEqual(['README'])
    expect(made.patch).not.toContain('secret')
    await cp(project.path, `${project.path}-restored`, { recursive: true, preserveTimestamps: true })
    await rm(project.path, { recursive: true })
    await rename(`${project.path}-restored`, project.path)
    expect(await project.changes()).toEqual(['modified README'])
  })

  it('is refused with its path and without its content if it has changed', async () => {
    await using project = await openReviewedProject(crypt)
    await project.sh(`${unlock}; echo 'TOKEN=changed' > prod.env`)
    const message = await refusal(project)
    expect(message).toContain('behind a filter is not delivered as it is: prod.env (crypt)')
    expect(message).not.toMatch(/changed|TOKEN/)
    await project.sh('rm .gitattributes')
    expect(await refusal(project)).toContain('prod.env (crypt)')
    await project.sh("git rm -q --cached prod.env; printf 'new' > new.env")
    expect(await refusal(project)).toContain('new.env (crypt), prod.env (crypt)')
  })

  it('is refused if its content is staged although no filter has made anything of it', async () => {
    await using project = await openReviewedProject(crypt)
    await project.sh(
      `${unlock}; git config --unset filter.crypt.clean; echo 'TOKEN=changed' > prod.env; git add prod.env`,
    )
    expect(await refusal(project)).toContain('prod.env (crypt)')
  })

  it('is delivered in the form that the filter made of it, once the agent has added it', async () => {
    await using project = await openReviewedProject(crypt)
    await project.sh(`${unlock}; echo 'TOKEN=changed' > prod.env; chmod +x prod.env; git add prod.env`)
    const made = await project.review()
    expect(made.patch).toContain('-GBXRA=frperg\n+GBXRA=punatrq\n')
    expect(made.patch).toContain('new mode 100755')
    await project.sh("git mv prod.env test.env; git commit -qm moved; echo 'TOKEN=later' > test.env")
    expect(await refusal(project)).toContain('test.env (crypt)')
  })

  it('may be deleted, and comes back by its stored form', async () => {
    await using project = await openReviewedProject(crypt)
    await project.sh(`${unlock}; rm prod.env`)
    expect(await project.changes()).toEqual(['deleted prod.env'])
    await project.write('copy.env', stored)
    expect(await project.changes()).toEqual(['renamed copy.env'])
  })

  it('is not delivered raw by the filter of git-crypt, whatever the index holds', async () => {
    const sealed = Buffer.from('\0GITCRYPT\0sealed', 'latin1')
    await using project = await openReviewedProject({ '.gitattributes': '*.key filter=git-crypt\n', 'a.key': sealed })
    await project.sh(
      "git config filter.git-crypt.clean cat; printf 'open secret' > a.key; git add a.key; rm .gitattributes",
    )
    expect(await refusal(project)).toContain('a.key (git-crypt)')
    await project.write('a.key', Buffer.from('\0GITCRYPT\0other', 'latin1'))
    expect(await project.changes()).toEqual(['deleted .gitattributes', 'modified a.key'])
  })
})

describe('a file of Git LFS', () => {
  const files = { ...crypt, 'a.psd': pointer(image) }

  it('is unchanged if it is the content that its pointer names, even without an index', async () => {
    await using project = await openReviewedProject(files)
    await project.sh(`printf 'the whole image\\n' > a.psd; echo two >> README; git config filter.lfs.clean "exit 1"`)
    expect(await project.changes()).toEqual(['modified README'])
    await project.sh('rm .git/index')
    expect(await project.changes()).toEqual(['modified README'])
    await project.sh('chmod +x a.psd')
    expect((await project.review()).patch).toContain('old mode 100644\nnew mode 100755\n')
  })

  it('may move as a pointer, and is refused if its object is in the sandbox alone', async () => {
    await using project = await openReviewedProject(files)
    await project.sh('git mv a.psd b.psd')
    expect(await project.changes()).toEqual(['renamed b.psd'])
    await project.write('c.psd', 'another image\n')
    expect(await refusal(project)).toContain('c.psd (lfs)')
    await project.write('c.psd', pointer('another image\n'))
    await project.sh('git add c.psd')
    expect(await refusal(project)).toContain('c.psd (lfs)')
  })

  it('is known by its pointer in the base if no attribute names the filter', async () => {
    await using project = await openReviewedProject({ 'a.bin': pointer(image), README: 'one\n' })
    await project.sh("printf 'the whole image\\n' > a.bin; echo two >> README")
    expect(await project.changes()).toEqual(['modified README'])
    await project.write('a.bin', 'another\n')
    expect(await refusal(project)).toContain('a.bin (unknown)')
  })
})

describe('a file behind a filter that changes nothing', () => {
  it('is delivered once it is added where the filter is set up', async () => {
    await using project = await openReviewedProject({ ...crypt, 'a.ipynb': '{}\n' })
    await project.sh("echo '{ }' > a.ipynb; git add a.ipynb")
    expect(await refusal(project)).toContain('a.ipynb (strip)')
    await project.sh('git config filter.strip.clean cat')
    expect(await project.changes()).toEqual(['modified a.ipynb'])
  })
})

describe('a file behind a link', () => {
  it('is never taken for the one that was there', async () => {
    await using project = await openReviewedProject({ ...crypt, 'data/a.env': stored, 'other/x': 'x' })
    await project.sh('mkdir ../away; cp data/a.env ../away/a.env; rm -r data; ln -s ../away data')
    expect(await project.changes()).toEqual(['added data', 'deleted data/a.env'])
  })
})
