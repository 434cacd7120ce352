import { describe, expect, it } from 'vitest'
import { editText } from './edit-text.ts'
import { nearestText } from './nearest-text.ts'

const text = 'function one() {\n\treturn 1\n}\n\nfunction two(a) {\n\tconst b = a * 2\n\treturn b\n}\n'

describe('the nearest text', () => {
  it('is shown with its lines, and says that it differs', () => {
    expect(nearestText(text, 'function two(a) {\n\tconst b = a + 2\n\treturn b\n}')).toBe(
      ' The nearest text, which differs, is at lines 5 to 8:\nfunction two(a) {\n\tconst b = a * 2\n\treturn b\n}',
    )
  })

  it('says if only white space differs', () => {
    expect(nearestText(text, '  return 1')).toBe(
      ' The nearest text, which differs only in white space, is at line 2:\n\treturn 1',
    )
  })

  it('is not shown if nothing is near, or the file is shorter', () => {
    expect(nearestText(text, 'class Swan extends Bird')).toBe('')
    expect(nearestText('a\n', 'a\nb\nc')).toBe('')
  })

  it('is not looked for in a file of very many lines, and is cut', () => {
    expect(nearestText('a b\n'.repeat(20_001), 'a c')).toBe('')
    const shown = nearestText(`${'long '.repeat(1000)}x`, `${'long '.repeat(1000)}y`)
    expect(shown.length).toBeLessThan(2200)
    expect(shown).toMatch(/…$/)
  })

  it('stands in the refusal of an edit, by the number of the edit', () => {
    const edits = [
      { oldText: 'return 1', newText: 'return 2' },
      { oldText: 'const b = a - 2', newText: 'x' },
    ]
    expect(() => editText(text, edits, true)).toThrow(
      /^edits\[1\]\.oldText is not in the file\. .* The nearest text, which differs, is at line 6:\n\tconst b = a \* 2$/s,
    )
  })
})
