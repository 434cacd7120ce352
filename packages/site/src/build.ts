/**
 * Makes the documentation's site in `packages/site/dist`: `node packages/site/src/build.ts`. It needs no network, and the
 * result needs none either: any server of files can serve it, below any path.
 */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Eleventy } from '@11ty/eleventy'
import { precompress } from '../../../script/lib/precompress.ts'
import { writeAssets } from './assets.ts'
import { contentsPage, readContents } from './contents.ts'
import { renderPage } from './layout.ts'
import { pageRenderer } from './markdown.ts'
import { placeOf } from './places.ts'
import { plain, type SearchSection, sectionsOf } from './search-sections.ts'
import { collectSources, withSlash } from './sources.ts'

const root = join(import.meta.dirname, '../../..')
const dist = join(root, 'packages/site/dist')
const fresh = `${dist}.${process.pid}`

/** The data that Eleventy hands to the layout. */
interface LayoutData {
  readonly source: string
  readonly content: string
}

// Eleventy reads paths relative to the directory that it runs in.
process.chdir(root)
const sources = collectSources(root)
const contents = readContents(sources.pages.get(contentsPage) ?? '', path => sources.folders.has(withSlash(path)))
const render = pageRenderer(sources)
const assets = await writeAssets(root, fresh)
const sections: Omit<SearchSection, 'id'>[] = []

const eleventy = new Eleventy('packages/site/browser', fresh, {
  configPath: null,
  quietMode: true,
  config: config => {
    config.setUseGitIgnore(false)
    config.setTemplateFormats(['md', '11ty.js'])
    config.setLibrary('md', { render: (text, data) => render(text, (data as LayoutData).source) })
    config.addGlobalData('markdownTemplateEngine', false)
    config.addTemplate('_includes/page.11ty.js', ({ source, content }: LayoutData) => {
      const title = plain(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(content)?.[1] ?? source)
      sections.push(...sectionsOf(content, title, placeOf(source)))
      return renderPage({ path: source, title, html: content }, contents, assets)
    })
    const add = (source: string, text: string) =>
      config.addTemplate(`${source.replace(/\/$/, '/index.md')}`, text, {
        source,
        permalink: placeOf(source),
        layout: 'page.11ty.js',
        templateEngineOverride: 'md',
      })
    for (const [path, text] of sources.pages) add(path, text)
    for (const [path, names] of sources.folders) add(path, folderPage(path, names))
  },
})
eleventy.disableLogger()
await eleventy.write()

const lostPage = '404.md'
const lost =
  '<h1 id="not-found">No such page</h1><p>The link may be old, or mistyped. The search finds pages by any word.</p>'
writeFileSync(
  join(fresh, '404.html'),
  renderPage({ path: `docs/${lostPage}`, title: 'No such page', html: lost }, contents, assets, '/docs'),
)
for (const path of sources.files) {
  const to = join(fresh, placeOf(path))
  mkdirSync(dirname(to), { recursive: true })
  cpSync(join(root, path), to)
}
const numbered = sections.map((section, id) => ({ id, ...section }))
writeFileSync(join(fresh, 'search.json'), JSON.stringify(numbered))
await precompress(fresh)
const old = `${fresh}.old`
rmSync(old, { recursive: true, force: true })
try {
  renameSync(dist, old)
} catch {
  // There was no site before.
}
renameSync(fresh, dist)
rmSync(old, { recursive: true, force: true })

/** A page that lists a folder: readers of a forge see the folder itself. */
function folderPage(path: string, names: readonly string[]): string {
  const lines = names.map(name => {
    const file = `${path}${name}`
    const heading = /^# (.*)$/m.exec(sources.pages.get(file) ?? '')?.[1]
    return `- [${heading ?? `\`${name}\``}](${name})`
  })
  const titles: Readonly<Record<string, string>> = { 'docs/decisions/': 'Decisions' }
  return `# ${titles[path] ?? `Files in \`${path}\``}\n\n${lines.join('\n')}\n`
}

// The file is read once more, so a site without its home page never replaces another one.
readFileSync(join(dist, 'index.html'))
