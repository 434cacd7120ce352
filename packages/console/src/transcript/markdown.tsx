import { type ComponentProps, createContext, lazy, memo, Suspense, use } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import { CitedFile } from '../files/cited-file.tsx'
import { printableLine } from '../ui/printable.ts'
import { readGfm } from './gfm.ts'
import { linkHost, namesHost } from './link-host.ts'
import { readBothWays } from './reading.ts'
import { safeUrl } from './safe-url.ts'

const CodeBlock = lazy(async () => ({ default: (await import('./code-block.tsx')).CodeBlock }))

/** The host stands beside the words, which may name another: a phone shows no `title`. */
function AgentLink({ href, children }: ComponentProps<'a'>) {
  if (href === undefined || href === '') return <span>{children}</span>
  const host = printableLine(linkHost(href))
  const isNamed = typeof children === 'string' && namesHost(children, href)
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={host}>
      {children}
      {/* Words that turn the reading order turn nothing in a `bdi`. */}
      {!isNamed && <bdi className="text-ink-3"> ({host})</bdi>}
    </a>
  )
}

/** A remote image would tell its host who reads, so it is named and not loaded. */
function AgentImage({ alt, src }: ComponentProps<'img'>) {
  return (
    <span className="text-ink-3">
      [image{alt === undefined || alt === '' ? '' : `: ${printableLine(alt)}`}
      {typeof src === 'string' && safeUrl(src) !== '' && (
        <>
          {' '}
          <AgentLink href={src}>{printableLine(linkHost(src))}</AgentLink>
        </>
      )}
      ]
    </span>
  )
}

const InBlock = createContext(false)

/** Code in a line that names a file leads there; a block has its colours behind the page. */
function AgentCode({ className, children }: ComponentProps<'code'>) {
  const code = <code dir="ltr">{children}</code>
  if (typeof children !== 'string') return code
  if (!use(InBlock)) return <CitedFile text={children}>{code}</CitedFile>
  return (
    <Suspense fallback={<pre>{code}</pre>}>
      <CodeBlock text={children.replace(/\n$/, '')} language={className?.replace('language-', '') ?? ''} />
    </Suspense>
  )
}

function Heading({ children, dir }: ComponentProps<'h2'>) {
  return <h2 dir={dir}>{children}</h2>
}

const components: Components = {
  a: ({ href, children }) => <AgentLink {...(href === undefined ? {} : { href })}>{children}</AgentLink>,
  img: ({ alt, src }) => <AgentImage alt={alt} src={src} />,
  pre: ({ children }) => <InBlock value={true}>{children}</InBlock>,
  table: ({ children }) => (
    <div role="region" aria-label="Table" tabIndex={0} className="overflow-x-auto">
      <table>{children}</table>
    </div>
  ),
  code: AgentCode,
  input: ({ checked }) => <span>{checked === true ? '☑ ' : '☐ '}</span>,
  // The page has its own outline; an agent's headings are one level in it, even if they skip levels.
  h1: ({ children, dir }) => (
    <h2 data-level="1" dir={dir}>
      {children}
    </h2>
  ),
  h2: ({ children, dir }) => (
    <h2 data-level="2" dir={dir}>
      {children}
    </h2>
  ),
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
}

const plugins = [readGfm]
const treePlugins = [readBothWays]

/** Shows Markdown as elements. HTML comes out as text, and nothing is loaded. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose-agent">
      <ReactMarkdown remarkPlugins={plugins} rehypePlugins={treePlugins} components={components} urlTransform={safeUrl}>
        {text}
      </ReactMarkdown>
    </div>
  )
})
