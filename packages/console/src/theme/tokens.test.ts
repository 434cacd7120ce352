import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const css = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8')

/** Inks for text, and every ground that they stand on. */
const grounds = ['canvas', 'surface', 'raised', 'hover', 'selected', 'code']
const pairs: readonly (readonly [ink: string, ground: string, least: number])[] = [
  ...['ink', 'ink-2', 'ink-3'].flatMap(ink => grounds.map(ground => [ink, ground, 4.5] as const)),
  ...['accent', 'good', 'warning', 'bad'].flatMap(ink =>
    ['canvas', 'surface', 'raised', 'code'].map(ground => [ink, ground, 4.5] as const),
  ),
  ...['good', 'warning', 'bad', 'accent'].map(ink => [ink, `${ink}-soft`, 4.5] as const),
  ...['ink', 'ink-2', 'ink-3'].flatMap(ink =>
    ['accent-soft', 'good-soft', 'warning-soft', 'bad-soft'].map(ground => [ink, ground, 4.5] as const),
  ),
  ...['ink', 'ink-3', 'good', 'warning', 'accent', 'code-name'].flatMap(ink =>
    ['canvas', 'diff-added', 'diff-removed'].map(ground => [ink, ground, 4.5] as const),
  ),
  ...['ink', 'ink-2', 'good', 'warning', 'accent', 'code-name'].flatMap(ink =>
    ['diff-added-strong', 'diff-removed-strong'].map(ground => [ink, ground, 4.5] as const),
  ),
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['control', 'canvas', 3],
  ['control', 'raised', 3],
  ['dot-active', 'surface', 3],
  ['dot-attention', 'surface', 3],
  ['dot-good', 'surface', 3],
  ...['1', '2', '3', '4', '5', '6', 'rest'].map(layer => [`chart-${layer}`, 'canvas', 3] as const),
]

function tokensOf(theme: 'light' | 'dark'): Map<string, string> {
  const block = new RegExp(`\\[data-theme="${theme}"\\] \\{([^}]*)\\}`).exec(css)?.[1] ?? ''
  return new Map([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(([, name = '', hex = '']) => [name, hex]))
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map(at => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map(value => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

describe.each(['light', 'dark'] as const)('the %s theme', theme => {
  const tokens = tokensOf(theme)

  test.each(pairs)('shows %s on %s with enough contrast', (ink, ground, least) => {
    const [a, b] = [luminance(tokens.get(ink) ?? ''), luminance(tokens.get(ground) ?? '')]
    expect((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)).toBeGreaterThanOrEqual(least)
  })

  test('has the tokens of the other theme', () => {
    expect([...tokens.keys()]).toEqual([...tokensOf(theme === 'light' ? 'dark' : 'light').keys()])
  })
})
