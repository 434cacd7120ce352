import { describe, expect, it } from 'vitest'
import { closedMarkdown } from './closed-markdown.ts'
import { withoutSection, withSection } from './pull-section.ts'

describe('a section of a description', () => {
  it('is at its end, replaces an earlier one, and goes', () => {
    const first = withSection('Why.\n', 'one')
    expect(first).toBe('Why.\n\n<!-- berth:evidence -->\n\none\n\n<!-- /berth:evidence -->')
    const second = withSection(`${first}\n\nAnd a word of a person.`, 'two')
    expect(second).toBe(withSection('Why.\n\n\nAnd a word of a person.', 'two'))
    expect(withSection(second, 'two')).toBe(second)
    expect(withSection(second, '')).toBe('Why.\n\n\nAnd a word of a person.')
    expect(withSection('', 'one').startsWith('<!-- berth')).toBe(true)
    for (const plain of ['', 'a\n', '<!-- berth:evidence -->', '<!-- /berth:evidence --> a'])
      expect(withoutSection(plain)).toBe(plain)
  })

  it('takes time in proportion to a description full of marks', () => {
    const many = '<!-- berth:evidence -->'.repeat(2800)
    expect(withoutSection(many)).toBe(many)
  })
})

describe('a text before a section', () => {
  it.each([
    'plain `code` and ```inline``` of it',
    '```ts\nconst a = 1\n```\n\ntext',
    '- one\n  ```sh\n  ls\n  ```\n- two',
    '1. one\n\n    ~~~\n    ls\n    ~~~\n',
    '> ```\n> ls\n>\n> ```\n\nmore',
    '<details><summary>a</summary>\n\nb\n\n</details>',
  ])('stays as it is if it ends by itself: %j', text => {
    expect(closedMarkdown(text)).toBe(text)
  })

  it.each([
    ['a\n```sh\nls', 'a\n\\`\\`\\`sh\nls'],
    ['~~~\nls\n```', '\\~\\~\\~\nls\n\\`\\`\\`'],
    // Each of them would begin a block where only its eye sees an end.
    ['> ```\n```', '> \\`\\`\\`\n\\`\\`\\`'],
    ['- ```\nend\n  ```', '- \\`\\`\\`\nend\n  \\`\\`\\`'],
    ['````\n```', '\\`\\`\\`\\`\n\\`\\`\\`'],
    ['```\nls\n    ```', '\\`\\`\\`\nls\n    \\`\\`\\`'],
    ['a <details><pre>b', 'a <details><pre>b\n\n</pre></details>'],
    ['<DETAILS open>\n<table></details>', '<DETAILS open>\n<table></details>\n\n</table>'],
    ['<? a', '<? a\n\n<!-- ?> ]]> -->'],
  ])('does not take it in: %j', (text, closed) => {
    expect(closedMarkdown(text)).toBe(closed)
    expect(closedMarkdown(closed)).toBe(closed)
  })
})
