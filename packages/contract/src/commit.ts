import { Type } from 'typebox'

/** Id of a git object. */
export const CommitOid = Type.String({ pattern: '^[a-f0-9]{40}$' })

/**
 * Id of the tree without files, which every git knows. It is the base of a Session that begins in a repository without a
 * commit. No commit can have it.
 */
export const emptyTreeOid = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** Id of the commit that work begins at, or `emptyTreeOid`. */
export const BaseOid = Type.String({
  pattern: '^[a-f0-9]{40}$',
  description: `The commit that the work begins at. In a repository without a commit: \`${emptyTreeOid}\`, git's id of the empty tree.`,
})

/** One line of at most 256 characters, the longest title that Git hosts accept. */
export const TitleLine = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\r\\n]*$' })

/** Text of a pull request or a commit, at most 65 536 characters and as many bytes. */
export const Prose = Type.String({ maxLength: 65_536 })
