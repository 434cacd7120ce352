import { BookOpen } from 'lucide-react'

/** Leads to the page of the documentation about a part of the console. @param docs its place there */
export function LearnMore({ about, docs }: { about: string; docs: string }) {
  return (
    <a
      href={`/docs/${docs}`}
      target="_blank"
      rel="noopener"
      className="flex h-8 items-center gap-1.5 rounded-md px-2 text-[0.8125rem] text-ink-2 hover:bg-hover hover:text-ink max-lg:h-9"
    >
      <BookOpen className="size-3.5" aria-hidden /> <span className="max-sm:sr-only">Learn more</span>
      <span className="sr-only">about {about}</span>
    </a>
  )
}
