class Hinge < Formula
  desc "Dense kernel support vector machines, trained exactly at the speed of BLAS"
  homepage "https://hinge.example.org"
  url "https://hinge.example.org/hinge-@version@.tar.xz"
  sha256 "@sha256@"
  license "BSD-3-Clause"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "openblas"
  depends_on "xz"

  uses_from_macos "zlib"

  on_macos do
    depends_on "libomp"
  end

  def install
    args = %w[-Dtools=enabled -Dcompat=enabled -Dexamples=disabled -Dtest=disabled -Dbenchmarks=disabled
              -Dmpi=disabled -Dxz=enabled -Dgz=enabled]
    system "meson", "setup", "build", *args, *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    (testpath/"data").write "+1 1:1 2:2\n-1 1:-1 2:-2\n+1 1:2 2:1\n-1 1:-2 2:-1\n"
    system bin/"hinge", "train", "-q", "data", "model"
    assert_match "Accuracy = 100%", shell_output("#{bin}/hinge predict data model predicted")
  end
end
