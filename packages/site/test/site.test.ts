import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anchorsOfPage } from '../src/anchors.ts'
import { contentsPage, readContents } from '../src/contents.ts'
import { pageRenderer } from '../src/markdown.ts'
import { linkBetween, placeOf } from '../src/places.ts'
import { sectionsOf } from '../src/search-sections.ts'

const root = join(import.meta.dirname, '../../..')
const dist = join(root, 'packages/site/dist')
const html = new Map(globSync('**/*.html', { cwd: dist }).map(path => [path, readFileSync(join(dist, path), 'utf8')]))

describe('the site as it was built', () => {
  test('has a page for every page below docs/, with its title', () => {
    const pages = globSync('docs/**/*.md', { cwd: root })
    expect(pages.length).toBeGreaterThan(30)
    expect(pages.filter(page => !/<title>[^<]+<\/title>/.test(html.get(placeOf(page)) ?? ''))).toEqual([])
  })

  test('has no link, picture, script or anchor that leads nowhere', () => {
    const anchors = new Map([...html].map(([path, text]) => [path, new Set(found(text, /\sid="([^"]+)"/g))]))
    const dangling = [...html].flatMap(([path, given]) => {
      // The page for lost readers is shown at any address, so its links begin at the site's root.
      const text = path === '404.html' ? given.replaceAll('"/docs/', '"') : given
      return (
        found(text, /\s(?:href|src|action)="([^"]+)"/g)
          // The service has its console and its reference beside the site.
          .filter(link => !/^[a-z]+:|^(?:\.\.\/)+(?:sessions|v1\/docs)$/.test(link))
          .filter(link => {
            const [to = '', anchor] = link.replaceAll('&amp;', '&').split('#', 2)
            const target = to === '' ? path : posix.join(posix.dirname(path), decodeURI(to))
            if (!existsSync(join(dist, target))) return true
            return anchor !== undefined && !anchors.get(target)?.has(anchor)
          })
          .map(link => `${path}: ${link}`)
      )
    })
    expect(dangling).toEqual([])
  })

  test('loads nothing from another origin, and holds no inline script, style or handler', () => {
    const forbidden =
      /<script(?![^>]* src="[^":]+")|<style|\sstyle="|\son\w+="|<(?:img|script|link)[^>]*(?:src|href)="(?:https?:)?\/\//
    expect([...html].filter(([, text]) => forbidden.test(withoutText(text))).map(([path]) => path)).toEqual([])
  })

  test('finds settings, commands, Events and headings', () => {
    const sections = JSON.parse(readFileSync(join(dist, 'search.json'), 'utf8')) as {
      place: string
      heading: string
      text: string
    }[]
    const placesWith = (word: string) =>
      sections.filter(({ heading, text }) => `${heading} ${text}`.includes(word)).map(({ place }) => place)
    expect(placesWith('BERTH_DATA_DIR')).toContainEqual(expect.stringMatching(/^settings\.html#/))
    expect(placesWith('berth env secrets set')).toContainEqual(expect.stringMatching(/^cli-reference\.html#/))
    expect(placesWith('svc.run.started').length).toBeGreaterThan(0)
    expect(placesWith('Sessions')).toContain('concepts.html#sessions')
  })

  test('lies in codings beside itself', () => {
    expect([...html.keys()].filter(path => !existsSync(join(dist, `${path}.br`)))).toEqual([])
  })
})

test('the contents name every page below docs/ but decisions', () => {
  const named = readContents(readFileSync(join(root, contentsPage), 'utf8'), () => false).flatMap(({ entries }) =>
    entries.map(({ path }) => path),
  )
  expect(
    globSync('docs/{,internals/}*.md', { cwd: root }).filter(path => path !== contentsPage && !named.includes(path)),
  ).toEqual([])
})

describe('a page', () => {
  const sources = {
    pages: new Map([['docs/other.md', '']]),
    files: new Set(['deploy/x.env']),
    folders: new Map([['docs/decisions/', []]]),
  }
  const render = pageRenderer(sources)

  test.each([
    ['a page beside it', '[x](other.md#a-b)', 'href="other.html#a-b"'],
    ['a page of the repository', '[x](../README.md)', 'href="repository/README.html"'],
    ['a file of the repository', '[x](../deploy/x.env)', 'href="repository/deploy/x.env.txt"'],
    ['a folder', '[x](decisions)', 'href="decisions/index.html"'],
    ['a heading', '[x](#a-b)', 'href="#a-b"'],
    ['another site', '[x](https://example.com/a.md)', 'href="https://example.com/a.md"'],
    ['a picture in HTML', '<img src="images/a.png" alt="">', 'src="images/a.png"'],
  ])('leads to %s', (_, text, expected) => {
    expect(render(text, 'docs/page.md')).toContain(expected)
  })

  test('below a folder leads out of it', () => {
    expect(render('[x](../other.md)', 'docs/decisions/1.md')).toContain('href="../other.html"')
    expect(linkBetween('decisions/1.html', 'index.html')).toBe('../index.html')
  })

  test('gives headings the anchors of forges, also the same one twice', () => {
    const anchor = anchorsOfPage()
    expect(['With `berth`', 'A & b: c', 'A & b: c'].map(anchor)).toEqual(['with-berth', 'a--b-c', 'a--b-c-1'])
  })

  test('is cut into sections for the search', () => {
    const page = render('# T\n\nfirst `<x>`\n\n## Two words\n\nsecond & last\n', 'docs/page.md')
    expect(sectionsOf(page, 'T', 'page.html')).toEqual([
      { page: 'T', heading: 'T', place: 'page.html', text: 'first <x>' },
      { page: 'T', heading: 'Two words', place: 'page.html#two-words', text: 'second & last' },
    ])
  })
})

const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, match = '']) => match)

/** The page without its blocks of code, which may show anything. */
const withoutText = (text: string): string => text.replace(/<code[\s\S]*?<\/code>/g, '')
