import { expect, test } from 'vitest'
import { attribute } from './attribution.ts'
import { signedCommit, withTrailers } from './commit.ts'

const app = { name: 'App', email: 'app@example.com' }
const robin = { name: 'Robin', email: 'robin@example.com' }
const signal = new AbortController().signal

const signer = 'deployment'

test.each([
  ['person', signer, false, robin, 'Robin', []],
  ['person', signer, true, robin, 'Robin', ['Signed-off-by: Robin <robin@example.com>']],
  ['person', signer, true, null, 'App', ['Signed-off-by: App <app@example.com>']],
  ['app', signer, false, robin, 'App', ['Co-authored-by: Robin <robin@example.com>']],
  ['app', signer, false, null, 'App', []],
  ['person', 'host', false, robin, 'App', ['Co-authored-by: Robin <robin@example.com>']],
  ['person', 'host', false, null, 'App', []],
] as const)(
  'an author chosen as %s, signed by the %s, with sign-off %j, asked for by %j, is %s',
  (author, signer, signOff, requester, name, lines) => {
    const { committer, ...found } = attribute({ author, signOff, signer }, requester, app)
    expect(found).toMatchObject({ author: { name }, trailers: lines })
    expect(committer).toBe(app)
  },
)

test('nobody writes a header or another person into a commit by their name or email', async () => {
  const requester = { name: 'Eve <a@b> 1 +0000\ncommitter Mallory', email: 'e ve@x>\n.example' }
  const { author, trailers } = attribute({ author: 'person', signOff: true, signer }, requester, app)
  expect(author).toEqual({ name: 'Eve a@b 1 +0000 committer Mallory', email: 'eve@x.example' })
  expect(trailers).toEqual(['Signed-off-by: Eve a@b 1 +0000 committer Mallory <eve@x.example>'])
  const commit = { tree: 't', parents: ['p'], author, committer: app, at: new Date(0), message: 'm' }
  expect((await signedCommit(commit, null)).split('\n').length).toBe(7)
  expect(attribute({ author: 'person', signOff: false, signer }, { name: '', email: 'r@x' }, app).author.name).toBe(
    'r@x',
  )
  expect(attribute({ author: 'app', signOff: false, signer }, { name: 'Robin', email: ' <>' }, app)).toMatchObject({
    author: app,
    trailers: [],
  })
})

test.each([
  ['Title', 'Title\n\nA: 1'],
  ['Title\n\nText.', 'Title\n\nText.\n\nA: 1'],
  ['Title\n\nText.\n\nFixes: #1', 'Title\n\nText.\n\nFixes: #1\nA: 1'],
  ['Title\n\nText\n\n# note', 'Title\n\nText\n\n# note\n\nA: 1'],
  ['Title\n\nText\n---\nmore', 'Title\n\nText\n---\nmore\n\nA: 1'],
])('a line at the end of %j is a trailer for git', async (message, expected) => {
  expect(await withTrailers(message, ['A: 1'], signal)).toBe(expected)
  expect(await withTrailers(message, [], signal)).toBe(message)
})
