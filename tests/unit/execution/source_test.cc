#include "core/execution/source.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

using Words = std::vector<std::string>;

std::vector<Words> installs_of(std::string_view code) {
  std::vector<Words> out;
  for (const InstallCommand& install : prepare_python(code).installs) out.push_back(install.arguments);
  return out;
}

TEST(PreparePython, SourceWithoutSuchALineIsByteForByteTheSame) {
  const std::string code("\xEF\xBB\xBFx = 1\r\n\tif x != 2 % 3:\r\n    pass\n\n'''\xE9", 45);
  EXPECT_EQ(prepare_python(code).code, code);
  EXPECT_TRUE(prepare_python(code).installs.empty());
  EXPECT_EQ(prepare_python("").code, "");
}

TEST(PreparePython, AnInstallBecomesANoOpOfTheSameIndentation) {
  const PreparedSource prepared =
      prepare_python("try:\n    import thing\nexcept ImportError:\n    !pip install thing\nprint(1)\n");
  EXPECT_EQ(prepared.code, "try:\n    import thing\nexcept ImportError:\n    pass\nprint(1)\n");
  ASSERT_EQ(prepared.installs.size(), 1u);
  EXPECT_EQ(prepared.installs[0].arguments, Words{"thing"});
  EXPECT_EQ(prepared.installs[0].line, 4u);
}

TEST(PreparePython, EveryWayToSayItIsKnown) {
  for (const char* line : {"!pip install a", "%pip install a", "!pip3 install a", "%pip3  install  a",
                           "! pip install a", "!python -m pip install a",
                           "!python3 -m pip install a", "\t!pip install a  ",
                           "!{sys.executable} -m pip install a"}) {
    EXPECT_EQ(installs_of(line), std::vector<Words>{Words{"a"}}) << line;
  }
}

TEST(PreparePython, OtherCommandsAreLeftToTheInterpreter) {
  for (const char* line : {"!pip list", "!pipx install a", "pip install a", "!pip installs a",
                           "x = !pip install a", "!ls", "%matplotlib inline", "!", "%",
                           "if x: !pip install a", "!python script.py install a"}) {
    EXPECT_EQ(prepare_python(line).code, line);
    EXPECT_TRUE(prepare_python(line).installs.empty()) << line;
  }
}

TEST(PreparePython, ALineInsideAStringIsText) {
  for (const char* code :
       {"t = '''\n!pip install a\n'''\n", "t = \"\"\"\n  !pip install a\n\"\"\"\n",
        "t = r'''\\\n!pip install a\n'''\n", "t = f'''{x}\n!pip install a\n'''\n",
        "t = 'one \\\n!pip install a'\n", "t = '''it\\'''s\n!pip install a\n'''\n"}) {
    EXPECT_EQ(prepare_python(code).code, code);
    EXPECT_TRUE(prepare_python(code).installs.empty()) << code;
  }
}

TEST(PreparePython, ALineInsideABracketOrACarriedOnStatementIsNoStatement) {
  for (const char* code : {"x = (1\n%pip install a\n)\n", "x = [\n!pip install a\n]\n",
                           "x = 5 \\\n%pip install a\n"}) {
    EXPECT_EQ(prepare_python(code).code, code);
    EXPECT_TRUE(prepare_python(code).installs.empty()) << code;
  }
}

TEST(PreparePython, QuotesInCommentsAndClosedStringsDoNotHideWhatFollows) {
  for (const char* before : {"# it's open\n", "x = 'a\"b'\n", "x = \"'\"\n", "x = ''\n", "x = ''''''\n",
                             "x = '\\''\n", "x = 'broken\n", "x = (')', \"(\")\n", "x = {'#': 1}\n",
                             "x = '''a''' # '''\n", "x = r'\\\\'\n", "print(1) # \\\n"}) {
    const std::string code = std::string(before) + "!pip install a\n";
    EXPECT_EQ(installs_of(code), std::vector<Words>{Words{"a"}}) << code;
  }
}

TEST(PreparePython, ACommandOverSeveralLinesKeepsTheirNumber) {
  const PreparedSource prepared = prepare_python("!pip install a \\\n    b \\\n  c\nprint(2)\n");
  EXPECT_EQ(prepared.code, "pass\n\n\nprint(2)\n");
  ASSERT_EQ(prepared.installs.size(), 1u);
  EXPECT_EQ(prepared.installs[0].arguments, (Words{"a", "b", "c"}));
}

TEST(PreparePython, CarriageReturnsStay) {
  EXPECT_EQ(prepare_python("!pip install a\r\nx = 1\r\n").code, "pass\r\nx = 1\r\n");
  EXPECT_EQ(installs_of("!pip install a\r\n"), std::vector<Words>{Words{"a"}});
}

TEST(PreparePython, FlagsQuotesAndCommentsAreAsInAShell) {
  EXPECT_EQ(installs_of("!pip install -q \"thing>=1.0\" 'b c'  # why\n"),
            (std::vector<Words>{{"-q", "thing>=1.0", "b c"}}));
  EXPECT_EQ(installs_of("!pip install thing>=1.0 other[extra]==2\n"),
            (std::vector<Words>{{"thing>=1.0", "other[extra]==2"}}));
}

TEST(PreparePython, RedirectionsAreNoArgumentsAndChainsAreCommands) {
  EXPECT_EQ(installs_of("!pip install a > /dev/null 2>&1\n"), (std::vector<Words>{{"a"}}));
  EXPECT_EQ(installs_of("!pip install a && pip install -U b; echo done\n"),
            (std::vector<Words>{{"a"}, {"-U", "b"}}));
  EXPECT_EQ(installs_of("!pip install a | tail -1\n"), (std::vector<Words>{{"a"}}));
}

TEST(PreparePython, AnInstallOfNothingIsStillReplaced) {
  const PreparedSource prepared = prepare_python("!pip install\n");
  EXPECT_EQ(prepared.code, "pass\n");
  EXPECT_TRUE(prepared.installs.empty());
}

TEST(PreparePython, TheNumberOfLinesNeverChanges) {
  // Every line drawn from these, every combination of three: the count of lines must stay.
  const Words lines = {"x = 1", "!pip install a", "'''", "(", ")", "  !pip install b \\", "# c", "\\"};
  for (const std::string& a : lines) {
    for (const std::string& b : lines) {
      for (const std::string& c : lines) {
        const std::string code = a + "\n" + b + "\n" + c + "\n";
        const std::string prepared = prepare_python(code).code;
        EXPECT_EQ(std::count(prepared.begin(), prepared.end(), '\n'), 3) << code;
      }
    }
  }
}

TEST(SplitWords, QuotesAndBackslashes) {
  EXPECT_EQ(split_words("a 'b c' \"d \\\" e\" f\\ g ''"), (Words{"a", "b c", "d \" e", "f g", ""}));
  EXPECT_EQ(split_words("a#b #c"), (Words{"a#b"}));
  EXPECT_EQ(split_words("open 'quote"), (Words{"open", "quote"}));
  EXPECT_TRUE(split_words("   ").empty());
}

}  // namespace
}  // namespace berth
