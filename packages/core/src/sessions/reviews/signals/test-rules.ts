/** How the tests of one language look, line by line. Each quantifier is bounded, so that a long line takes linear time. */
interface TestLanguage {
  readonly files: RegExp
  /** Whether tests stand in any file, beside the code that they test. */
  readonly anywhere?: true
  readonly test: RegExp
  readonly assertion: RegExp
  readonly skipped: RegExp
  readonly narrowed?: RegExp
}

const languages: readonly TestLanguage[] = [
  {
    files: /\.[cm]?[jt]sx?$|\.(?:vue|svelte)$/,
    test: /\b[xf]?(?:it|test|describe)(?:\.\w{1,20}){0,3}\s{0,4}[(`]/,
    assertion: /\bexpect\s{0,4}\(|\bassert(?:\.\w{1,30})?\s{0,4}\(|\.should\b/,
    skipped:
      /\b(?:it|test|describe|context|suite)(?:\.\w{1,20}){0,3}\.(?:skip|skipIf|todo|fixme)\b|\bx(?:it|test|describe|context)\s{0,4}\(/,
    narrowed:
      /\b(?:it|test|describe|context|suite)(?:\.\w{1,20}){0,3}\.only\b|(?<![.\w])f(?:it|describe|context)\s{0,4}\(\s{0,4}["'`]/,
  },
  {
    files: /\.py$/,
    test: /^\s*(?:async )?def test/,
    assertion: /^\s*assert\b|\bself\.(?:assert|fail)\w{0,40}\(|\bpytest\.raises\(/,
    skipped:
      /@(?:pytest\.mark\.|unittest\.)?(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b|\bpytest\.(?:skip|importorskip)\(|\bself\.skipTest\(/,
  },
  {
    files: /\.go$/,
    test: /^func (?:Test|Fuzz)\w{0,80}\(/,
    assertion: /\b[tb]\.(?:Errorf?|Fatalf?|Fail|FailNow)\(|\b(?:assert|require)\.\w{1,40}\(/,
    skipped: /\b[tb]\.(?:Skip|Skipf|SkipNow)\(/,
  },
  {
    files: /\.rs$/,
    anywhere: true,
    test: /#\[(?:\w{1,20}::)?test\b/,
    assertion: /\bassert(?:_eq|_ne|_matches)?!/,
    skipped: /#\[ignore\b/,
  },
  {
    files: /\.(?:java|kt|kts|scala|groovy)$/,
    test: /@(?:Test|ParameterizedTest|RepeatedTest)\b/,
    assertion: /\bassert\w{0,40}\s{0,4}[({]|\bverify\(/,
    skipped: /@(?:Ignore|Disabled)\b|@Test\s{0,4}\(\s{0,4}enabled\s{0,4}=\s{0,4}false/,
  },
  {
    files: /\.cs$/,
    test: /\[(?:Fact|Theory|Test|TestCase|TestMethod)\b/,
    assertion: /\bAssert\.|\.Should\(/,
    skipped: /\[Ignore\b|\[(?:Fact|Theory)\(\s{0,4}Skip\b/,
  },
  {
    files: /\.rb$/,
    test: /^\s*[xf]?(?:it|specify|test|scenario)\b/,
    assertion: /\bexpect\b|\bassert\w{0,30}\b|\brefute\w{0,30}\b|\.should\b/,
    skipped: /^\s*(?:skip|pending|xit|xdescribe|xcontext|xspecify)\b/,
    narrowed: /\bfocus:\s{0,4}true|^\s*f(?:it|describe|context|specify)\b/,
  },
  {
    files: /\.php$/,
    test: /\bfunction test|#\[Test\b/,
    assertion: /(?:->|::)assert\w{1,40}\(/,
    skipped: /\bmarkTest(?:Skipped|Incomplete)\(/,
  },
  {
    files: /\.swift$/,
    test: /\bfunc test|@Test\b/,
    assertion: /\bXCTAssert|#expect\b|#require\b/,
    skipped: /\bXCTSkip|\.disabled\(/,
  },
  {
    files: /\.exs?$/,
    test: /^\s*test\b/,
    assertion: /^\s*(?:assert|refute)\w{0,20}\b/,
    skipped: /@(?:tag|moduletag) (?::skip|skip:)/,
  },
]

/** A path that holds tests, by the customs of the languages above. */
export const testPath =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|(?:^|[/._-])(?:test|tests|spec|specs|cy)\.[^/]{1,20}$|(?:^|\/)test_[^/]*\.py$|Tests?\.\w{1,8}$/

/** Returns how the tests in a file look; undefined if it has none. */
export const testLanguageOf = (path: string): TestLanguage | undefined =>
  languages.find(({ files, anywhere }) => files.test(path) && (anywhere === true || testPath.test(path)))
