import { describe, expect, it } from 'vitest'
import { isBranchName } from './branch-name.ts'
import { runGit } from './run-git.ts'

describe('a branch', () => {
  it('may have any name that git accepts', async () => {
    const taken = ['a', 'a/b', 'feature-1', 'é', 'a.b', 'a@b', 'x'.repeat(255), "it's", '"', '$(x)', ';', 'a\u2028b']
    for (const name of taken) {
      expect([name, isBranchName(name)]).toEqual([name, true])
      await runGit(['check-ref-format', '--branch', name])
    }
  })

  it.each([
    ...['', '-x', '--upload-pack=x', '@', '@{u}', 'a@{0}', 'HEAD', 'refs/heads/a', '.a', 'a/.b', 'a.lock', 'a.lock/b'],
    ...[
      'a..b',
      '../a',
      'a/',
      '/a',
      'a//b',
      'a.',
      'a b',
      'a\tb',
      'a\nb',
      'a\0b',
      'a\u007fb',
      'a\u0085b',
      'a~1',
      'a^',
      'a:b',
    ],
    ...['a?', 'a*', 'a[', 'a\\b', 'é'.repeat(128)],
  ])('may not be called %j', name => expect(isBranchName(name)).toBe(false))
})
